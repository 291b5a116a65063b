from .kinds import *
from .layers import Layer
from .sparse import Sparse
