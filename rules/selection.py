"""Which functions deserve tracing, and which files: data first, code second.

Judged is worth alone, by what the source says: whether a function does I/O, waits, computes or calls what may do so.
What a call costs is read off its resolved name. A name that no table knows is a function of the program itself, which
may do anything, so it is never taken for cheap: the tables err on the side of one event too many.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from dfannotate.names import is_dunder

if TYPE_CHECKING:
    from dfannotate.facts import FunctionFacts, ModuleFacts

Cost = Literal["io", "work", "cheap"]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# --- calls ------------------------------------------------------------------------------------------------------------

IO_FUNCTIONS: dict[str, tuple[str, ...]] = {
    "": _words("input open"),
    "PIL.Image": _words("open"),
    "asyncio": _words(
        """
        as_completed create_subprocess_exec create_subprocess_shell gather open_connection open_unix_connection
        run sleep start_server start_unix_server to_thread wait wait_for
        """
    ),
    "builtins": _words("input open"),
    "cloudpickle": _words("dump dumps load loads"),
    "codecs": _words("open"),
    "concurrent.futures": _words("ProcessPoolExecutor ThreadPoolExecutor as_completed wait"),
    "csv": _words("DictReader DictWriter reader writer"),
    "cupy": _words("load loadtxt save savetxt savez savez_compressed"),
    "cv2": _words("VideoCapture VideoWriter imdecode imencode imread imreadmulti imwrite"),
    "dask": _words("compute persist"),
    "dask.array": _words("from_zarr store to_hdf5 to_zarr"),
    "dask.dataframe": _words("read_csv read_hdf read_json read_parquet read_sql_table to_csv to_parquet"),
    "datasets": _words("load_dataset load_from_disk"),
    "dill": _words("dump dump_session dumps load load_session loads"),
    "distutils.dir_util": _words("copy_tree mkpath remove_tree"),
    "geopandas": _words("read_feather read_file read_parquet"),
    "getpass": _words("getpass"),
    "huggingface_hub": _words("hf_hub_download snapshot_download upload_file upload_folder"),
    "importlib": _words("import_module reload"),
    "importlib.metadata": _words("distribution distributions entry_points files metadata version"),
    "importlib.resources": _words("as_file contents files open_binary open_text path read_binary read_text"),
    "io": _words("BufferedReader BufferedWriter FileIO TextIOWrapper open open_code"),
    "jax.numpy": _words("load save savez"),
    "joblib": _words("Parallel dump load"),
    "json": _words("dump load"),
    "librosa": _words("load stream"),
    "librosa.core": _words("load"),
    "logging.config": _words("fileConfig"),
    "marshal": _words("dump load"),
    "matplotlib.pyplot": _words("imread imsave savefig show"),
    "mpi4py.MPI": _words("Finalize Init Init_thread"),
    "mpi4py.MPI.File": _words("Delete Open"),
    "mpi4py.MPI.Win": _words("Allocate Allocate_shared Create"),
    "multiprocessing": _words("Manager Pipe Pool Process"),
    "nibabel": _words("load save"),
    "numpy": _words("DataSource fromfile fromregex genfromtxt load loadtxt memmap save savetxt savez savez_compressed"),
    "numpy.lib.format": _words("open_memmap read_array write_array"),
    "onnx": _words("load load_model save save_model"),
    "openpyxl": _words("load_workbook"),
    "orbax.checkpoint": _words("CheckpointManager Checkpointer PyTreeCheckpointer"),
    "os": _words(
        """
        access chdir chmod chown chroot close closerange copy_file_range dup dup2 execl execle execlp execlpe
        execv execve execvp execvpe fchmod fchown fdatasync fdopen fork forkpty fstat fstatvfs fsync ftruncate
        fwalk getxattr kill killpg lchmod lchown link listdir listxattr lockf lseek lstat makedirs mkdir mkfifo
        mknod open pipe pipe2 popen posix_fadvise posix_fallocate posix_spawn posix_spawnp pread preadv pwrite
        pwritev read readlink readv remove removedirs removexattr rename renames replace rmdir scandir sendfile
        setxattr spawnl spawnle spawnlp spawnlpe spawnv spawnve spawnvp spawnvpe splice stat statvfs symlink
        sync system truncate unlink utime wait wait3 wait4 waitid waitpid walk write writev
        """
    ),
    "os.path": _words(
        """
        exists getatime getctime getmtime getsize isdir isfile islink ismount lexists realpath samefile
        sameopenfile
        """
    ),
    "pandas": _words(
        """
        ExcelFile ExcelWriter HDFStore read_clipboard read_csv read_excel read_feather read_fwf read_gbq
        read_hdf read_html read_iceberg read_json read_orc read_parquet read_pickle read_sas read_spss read_sql
        read_sql_query read_sql_table read_stata read_table read_xml to_pickle
        """
    ),
    "pkgutil": _words("get_data iter_modules walk_packages"),
    "plistlib": _words("dump load"),
    "polars": _words(
        """
        read_avro read_clipboard read_csv read_csv_batched read_database read_database_uri read_delta read_excel
        read_ipc read_ipc_stream read_json read_ndjson read_ods read_parquet scan_csv scan_delta scan_ipc
        scan_ndjson scan_parquet
        """
    ),
    "pyarrow": _words("OSFile input_stream memory_map output_stream"),
    "pyarrow.ipc": _words("new_file new_stream open_file open_stream"),
    "pydicom": _words("dcmread dcmwrite read_file write_file"),
    "runpy": _words("run_module run_path"),
    "scipy.io": _words("loadmat mmread mmwrite netcdf_file readsav savemat whosmat"),
    "scipy.io.wavfile": _words("read write"),
    "scipy.sparse": _words("load_npz save_npz"),
    "signal": _words("pause sigtimedwait sigwait sigwaitinfo"),
    "skimage.io": _words("imread imread_collection imsave imshow"),
    "sklearn.datasets": _words("dump_svmlight_file fetch_openml load_files load_svmlight_file"),
    "syslog": _words("closelog openlog syslog"),
    "tensorflow.data": _words("FixedLengthRecordDataset TFRecordDataset TextLineDataset"),
    "time": _words("sleep"),
    "toml": _words("dump load"),
    "tomli": _words("load"),
    "tomli_w": _words("dump"),
    "tomllib": _words("load"),
    "torch": _words("from_file load save"),
    "torch.cuda": _words("empty_cache init synchronize"),
    "torch.distributed": _words(
        """
        FileStore HashStore P2POp TCPStore all_gather all_gather_coalesced all_gather_into_tensor
        all_gather_object all_reduce all_reduce_coalesced all_to_all all_to_all_single barrier batch_isend_irecv
        broadcast broadcast_object_list destroy_process_group gather gather_object init_process_group irecv
        isend monitored_barrier new_group new_subgroups recv recv_object_list reduce reduce_scatter
        reduce_scatter_tensor scatter scatter_object_list send send_object_list
        """
    ),
    "torch.distributed.checkpoint": _words(
        """
        FileSystemReader FileSystemWriter async_save load load_state_dict save save_state_dict
        """
    ),
    "torch.distributed.rpc": _words("init_rpc remote rpc_async rpc_sync shutdown"),
    "torch.export": _words("load save"),
    "torch.hub": _words("download_url_to_file load load_state_dict_from_url"),
    "torch.jit": _words("load save"),
    "torch.multiprocessing": _words("Pool Process spawn start_processes"),
    "torchaudio": _words("info load save"),
    "torchvision.datasets.folder": _words("default_loader pil_loader"),
    "torchvision.io": _words(
        """
        decode_image read_file read_image read_video write_file write_jpeg write_png write_video
        """
    ),
    "torchvision.utils": _words("save_image"),
    "xarray": _words("load_dataarray load_dataset open_dataarray open_dataset open_mfdataset open_zarr save_mfdataset"),
    "xml.dom.minidom": _words("parse"),
    "xml.etree.ElementTree": _words("iterparse parse"),
    "xml.sax": _words("parse"),
    "yaml": _words("dump dump_all full_load load load_all safe_dump safe_dump_all safe_load safe_load_all unsafe_load"),
}
"""Module -> its functions that open, read, write, send, receive, load, save, sync, delete, rename, ask the file
system or wait; ``""`` holds the built-in ones."""

IO_MODULES = _words(
    """
    MySQLdb _pickle adios2 aiobotocore aiofiles aiohttp aiomysql aiopg aioredis aiosqlite asyncpg azure.storage
    boto3 botocore bz2 cassandra dask.distributed dbm elasticsearch etcd3 fabric fcntl fileinput fsspec ftplib gcsfs
    glob google.cloud.storage grpc gzip h5netcdf h5py hdfs horovod.tensorflow horovod.torch http.client http.server
    httpx imageio imaplib kafka kvikio lance linecache lmdb lzma mailbox minio mmap msvcrt
    multiprocessing.connection multiprocessing.managers multiprocessing.pool multiprocessing.shared_memory netCDF4
    nntplib nvidia.dali paramiko pexpect pickle pika poplib psycopg psycopg2 pty pyarrow.csv pyarrow.dataset
    pyarrow.feather pyarrow.fs pyarrow.json pyarrow.orc pyarrow.parquet pyhdfs pymongo pymysql pyodbc pysftp rados
    rasterio redis requests s3fs safetensors select selectors shelve shutil smart_open smbclient smtplib socket
    socketserver soundfile sqlite3 ssl subprocess tables tarfile telnetlib tempfile tensorflow.io tensorflow.train
    tensorstore termios tifffile ucp urllib.request urllib3 wave webdataset websocket websockets xmlrpc.client zarr
    zipfile zmq
    """
)
"""Modules and packages whose every function counts as I/O, but for what CHEAP_FUNCTIONS says of them."""

IO_METHODS = _words(
    """
    Allgather Allgatherv Allreduce Alltoall Alltoallv Barrier Bcast Gather Gatherv Iallreduce Ibcast Iprobe Irecv
    Isend Probe Read_at Read_at_all Recv Reduce Reduce_scatter Scatter Scatterv Send Sendrecv Ssend Wait Waitall
    Write_at Write_at_all accept aclose acquire allgather allreduce alltoall asend backup barrier bcast
    block_until_ready checkpoint chmod chown clone_from close commit communicate connect connect_ex copyfile
    copytree cpu create_dataset cuda delete_object do_handshake download download_file download_fileobj drain dump
    execute executemany executescript exists extractall fdatasync fetch fetchall fetchmany fetchone flush
    from_pretrained fsync gather get_nowait get_object getresponse hardlink_to hget hset iprobe irecv
    is_block_device is_char_device is_dir is_fifo is_file is_mount is_socket is_symlink isend iterdir lchmod link_to
    list_objects list_objects_v2 listdir listen load load_state_dict lpop lpush lseek lstat makedirs makefile mget
    mkdir mset next_batch open openpty owner peek pin_memory poll pread preadv prefetch probe publish put put_nowait
    put_object pwrite pwritev read read1 read_all read_at read_bytes read_into read_text readall readexactly
    readframes readinto readinto1 readline readlines readlink readuntil recv recv_bytes recv_bytes_into recv_into
    recv_json recv_multipart recv_pyobj recv_string recvfrom recvfrom_into recvmsg recvmsg_into rename retrbinary
    retrlines rglob rmdir rmtree rollback rpop rpush samefile save save_pretrained savefig scandir send send_bytes
    send_json send_message send_multipart send_pyobj send_string sendall sendfile sendmail sendmsg sendrecv sendto
    shutdown sleep stat storbinary storlines subscribe symlink_to sync synchronize to to_csv to_disk to_excel
    to_feather to_file to_gbq to_hdf to_netcdf to_orc to_parquet to_pickle to_sql to_stata to_xml to_zarr tofile
    touch truncate unlink upload upload_file upload_fileobj urlopen utime wait wait_closed wait_for wait_until
    waitall write write_all write_at write_bytes write_eof write_text writeframes writeframesraw writeheader
    writelines writerow writerows writestr
    """
)
"""Methods that are I/O, a transfer, a message or a wait on whatever object they are called."""

CHEAP_FUNCTIONS: dict[str, tuple[str, ...]] = {
    "": _words(
        """
        abs all any ascii bin bool bytearray bytes callable chr classmethod complex delattr dict dir divmod
        enumerate float format frozenset getattr globals hasattr hash hex id int isinstance issubclass len list
        locals max memoryview min object oct ord pow property range repr reversed round set setattr slice sorted
        staticmethod str sum super tuple type vars zip
        """
    ),
    "abc": _words("get_cache_token"),
    "argparse": _words("ArgumentParser Namespace"),
    "ast": _words("Attribute Call Constant Load Name Store arg copy_location dump keyword"),
    "asyncio": _words(
        """
        Event Future Lock Queue Semaphore current_task get_event_loop get_running_loop iscoroutine
        iscoroutinefunction new_event_loop
        """
    ),
    "atexit": _words("register unregister"),
    "attr": _words("asdict attrib evolve ib"),
    "attrs": _words("asdict evolve field"),
    "codecs": _words("CodecInfo lookup"),
    "collections": _words("ChainMap Counter OrderedDict UserDict UserList defaultdict deque namedtuple"),
    "configparser": _words("ConfigParser RawConfigParser"),
    "contextlib": _words("AsyncExitStack ExitStack closing contextmanager nullcontext suppress"),
    "contextvars": _words("ContextVar copy_context"),
    "copy": _words("copy replace"),
    "ctypes": _words(
        """
        POINTER addressof byref c_bool c_byte c_char c_char_p c_double c_float c_int c_int32 c_int64 c_long
        c_longlong c_short c_size_t c_ubyte c_uint c_uint32 c_uint64 c_ulong c_ulonglong c_ushort c_void_p cast
        pointer sizeof
        """
    ),
    "dataclasses": _words("asdict astuple field fields is_dataclass replace"),
    "datetime": _words("date datetime time timedelta timezone"),
    "datetime.date": _words("fromisoformat fromordinal fromtimestamp today"),
    "datetime.datetime": _words("combine fromisoformat fromtimestamp now strptime today utcfromtimestamp utcnow"),
    "decimal": _words("Decimal getcontext localcontext"),
    "enum": _words("auto"),
    "fnmatch": _words("fnmatch fnmatchcase"),
    "fractions": _words("Fraction"),
    "functools": _words(
        """
        cache cached_property cmp_to_key lru_cache partial partialmethod singledispatch total_ordering
        update_wrapper wraps
        """
    ),
    "gettext": _words("gettext ngettext"),
    "html": _words("escape unescape"),
    "inspect": _words(
        """
        cleandoc currentframe isabstract isasyncgenfunction isawaitable isbuiltin isclass iscoroutine
        iscoroutinefunction isdatadescriptor isfunction isgenerator isgeneratorfunction ismethod
        ismethoddescriptor ismodule isroutine unwrap
        """
    ),
    "io": _words("BytesIO StringIO text_encoding"),
    "ipaddress": _words("ip_address ip_network"),
    "itertools": _words(
        """
        accumulate chain combinations count cycle groupby islice pairwise permutations product repeat tee
        zip_longest
        """
    ),
    "itertools.chain": _words("from_iterable"),
    "keyword": _words("iskeyword issoftkeyword"),
    "locale": _words("getlocale getpreferredencoding"),
    "logging": _words(
        """
        Formatter NullHandler StreamHandler addLevelName basicConfig captureWarnings critical debug disable
        error exception getLevelName getLogger getLoggerClass info log warn warning
        """
    ),
    "math": _words(
        """
        acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh degrees dist erf erfc exp exp2 expm1
        fabs floor fmod frexp fsum gamma gcd hypot isclose isfinite isinf isnan isqrt lcm ldexp lgamma log log10
        log1p log2 modf nextafter pow prod radians remainder sin sinh sqrt tan tanh trunc ulp
        """
    ),
    "mpi4py.MPI.COMM_WORLD": _words("Get_rank Get_size"),
    "multiprocessing": _words(
        """
        Condition Event Lock RLock Semaphore cpu_count current_process get_context get_start_method
        parent_process
        """
    ),
    "ntpath": _words("basename dirname join normpath split splitext"),
    "numpy": _words(
        """
        bool_ can_cast dtype errstate finfo float16 float32 float64 iinfo int16 int32 int64 int8 isscalar
        issubdtype ndim promote_types result_type shape size uint16 uint32 uint64 uint8
        """
    ),
    "operator": _words(
        """
        add and_ attrgetter contains eq floordiv ge getitem gt index inv invert is_ is_not itemgetter le lshift
        lt methodcaller mod mul ne neg not_ or_ pos rshift setitem sub truediv truth xor
        """
    ),
    "os": _words(
        """
        WEXITSTATUS WIFEXITED WIFSIGNALED WTERMSIG cpu_count fsdecode fsencode fspath getcwd getegid getenv
        geteuid getgid getpgid getpid getppid getuid process_cpu_count putenv register_at_fork sched_getaffinity
        strerror sysconf uname unsetenv
        """
    ),
    "os.environ": _words("copy get items keys pop setdefault update values"),
    "os.path": _words(
        """
        abspath basename commonpath commonprefix dirname expanduser expandvars isabs join normcase normpath
        relpath split splitdrive splitext splitroot
        """
    ),
    "pathlib": _words("Path PosixPath PurePath PurePosixPath PureWindowsPath WindowsPath"),
    "pathlib.Path": _words("cwd home"),
    "platform": _words(
        """
        machine node processor python_implementation python_version python_version_tuple release system
        """
    ),
    "posixpath": _words("basename dirname join normpath split splitext"),
    "queue": _words("Empty Full LifoQueue PriorityQueue Queue SimpleQueue"),
    "random": _words("Random choice getrandbits randint random randrange seed uniform"),
    "re": _words("compile escape findall finditer fullmatch match search split sub subn"),
    "secrets": _words("token_bytes token_hex"),
    "select": _words("epoll kqueue poll"),
    "selectors": _words("DefaultSelector"),
    "shlex": _words("join quote split"),
    "signal": _words("Signals getsignal signal"),
    "socket": _words("gethostname htonl htons inet_aton inet_ntoa inet_ntop inet_pton ntohl ntohs"),
    "stat": _words("S_IFMT S_IMODE S_ISBLK S_ISCHR S_ISDIR S_ISFIFO S_ISLNK S_ISREG S_ISSOCK filemode"),
    "string": _words("Template capwords"),
    "struct": _words("Struct calcsize pack pack_into unpack unpack_from"),
    "subprocess": _words("list2cmdline"),
    "sys": _words(
        """
        _getframe _getframemodulename audit displayhook exc_info exception exit getdefaultencoding
        getfilesystemencodeerrors getfilesystemencoding getrecursionlimit getrefcount getsizeof
        getswitchinterval getwindowsversion intern is_finalizing setrecursionlimit
        """
    ),
    "sys.argv": _words("append copy index insert pop remove"),
    "sys.meta_path": _words("append insert remove"),
    "sys.modules": _words("copy get items keys pop setdefault values"),
    "sys.path": _words("append extend index insert pop remove"),
    "sys.platform": _words("startswith"),
    "tarfile": _words("TarInfo"),
    "tempfile": _words("gettempdir gettempprefix"),
    "textwrap": _words("dedent fill indent shorten wrap"),
    "threading": _words(
        """
        Barrier BoundedSemaphore Condition Event Lock RLock Semaphore Thread Timer active_count currentThread
        current_thread enumerate get_ident get_native_id local main_thread
        """
    ),
    "time": _words(
        """
        asctime clock_gettime ctime gmtime localtime mktime monotonic monotonic_ns perf_counter perf_counter_ns
        process_time process_time_ns strftime strptime thread_time time time_ns
        """
    ),
    "torch": _words(
        """
        Generator Size _check are_deterministic_algorithms_enabled device dtype finfo get_autocast_dtype
        get_default_dtype get_num_threads get_rng_state iinfo no_grad promote_types result_type set_grad_enabled
        """
    ),
    "torch._C": _words("_log_api_usage_once"),
    "torch.cuda": _words(
        """
        current_device current_stream device_count get_device_capability get_device_name get_device_properties
        """
    ),
    "torch.distributed": _words("get_backend get_local_rank get_rank get_world_size"),
    "torch.jit": _words("annotate"),
    "traceback": _words("format_exc format_exception"),
    "types": _words("FunctionType MappingProxyType MethodType ModuleType SimpleNamespace"),
    "typing": _words(
        """
        ForwardRef NamedTuple NewType ParamSpec TypeVar TypedDict assert_never assert_type cast get_args
        get_origin get_type_hints reveal_type
        """
    ),
    "typing_extensions": _words("TypeVar assert_never assert_type cast get_args get_origin"),
    "unicodedata": _words("category combining east_asian_width name normalize"),
    "urllib.parse": _words(
        """
        parse_qs parse_qsl quote quote_plus unquote unquote_plus urlencode urljoin urlparse urlsplit urlunparse
        urlunsplit
        """
    ),
    "uuid": _words("UUID uuid1 uuid3 uuid4 uuid5"),
    "warnings": _words("catch_warnings filterwarnings resetwarnings simplefilter warn warn_explicit"),
    "weakref": _words("WeakKeyDictionary WeakSet WeakValueDictionary finalize proxy ref"),
    "zipfile": _words("ZipInfo"),
}
"""Module -> its functions that neither do I/O nor take time worth measuring; ``""`` holds the built-in ones. Not here:
what calls what it is given (``map``, ``functools.reduce``) or moves an iterator on (``next``, ``iter``)."""

CHEAP_METHODS = _words(
    """
    Get_rank Get_size __contains__ __delattr__ __dir__ __eq__ __format__ __ge__ __getattribute__ __getstate__ __gt__
    __hash__ __init__ __init_subclass__ __instancecheck__ __le__ __len__ __lt__ __ne__ __new__ __reduce__
    __reduce_ex__ __repr__ __set_name__ __setattr__ __sizeof__ __str__ __subclasses__ __subclasshook__ add
    addHandler add_argument add_argument_group add_done_callback add_mutually_exclusive_group add_parser
    add_subparsers append appendleft as_integer_ratio as_posix as_uri astimezone bit_count bit_length cancelled
    capitalize casefold center clear conjugate copy count critical data_ptr date debug decode difference
    difference_update digest dim discard done element_size elements empty encode end endswith exception expandtabs
    extend extendleft fileno find format format_map from_bytes fromhex fromkeys fromtimestamp full fullmatch get
    getEffectiveLevel getLogger get_device get_rank get_world_size getboolean getbuffer getfloat getint getvalue
    group groupdict groups hasHandlers hex hexdigest index info insert intersection intersection_update isEnabledFor
    isalnum isalpha isascii isatty isdecimal isdigit isdisjoint isidentifier islower isnumeric isoformat isprintable
    isspace issubset issuperset istitle isupper items join joinpath keys ljust locked lower lstrip maketrans match
    most_common move_to_end mro ndimension notify notify_all numel partition pop popitem popleft qsize readable
    relative_to release remove removeHandler removeprefix removesuffix replace reverse rfind rindex rjust rotate
    rpartition rsplit rstrip seekable set setLevel set_defaults set_exception set_result setdefault size span split
    splitlines storage_offset strftime stride strip swapcase symmetric_difference symmetric_difference_update
    timestamp timetuple title to_bytes toordinal total_seconds translate union update upper utcoffset values warning
    weekday with_name with_segments with_stem with_suffix writable zfill
    """
)
"""Methods of strings, numbers, containers, paths, matches, loggers and tensor shapes that cost next to nothing."""

DEAR_OBJECTS: dict[str, tuple[str, ...]] = {
    "add": _words("imap sftp"),
    "append": _words("imap mailbox"),
    "copy": _words("bucket file fs path s3 sftp storage tensor"),
    "count": _words("collection db query"),
    "decode": _words("codec decoder model processor tokenizer vae"),
    "encode": _words("codec encoder model processor tokenizer vae"),
    "find": _words("collection db"),
    "get": _words(
        """
        bucket channel client comm conn connection fut future http inbox mailbox outbox pipe pool q queue redis
        ref requests result sess session store url win
        """
    ),
    "index": _words("elasticsearch es"),
    "insert": _words("collection cursor db table"),
    "join": _words(
        """
        child children consumer daemon p pool proc process processes procs producer q queue t thread threads
        worker workers
        """
    ),
    "keys": _words("redis"),
    "match": _words("engine matcher"),
    "pop": _words("redis"),
    "release": _words("cam camera cap capture pool stream video"),
    "remove": _words("bucket collection db file fs ftp path s3 sftp storage"),
    "replace": _words("collection destination dst file path src target temp tmp"),
    "set": _words("cache client memcache redis store"),
    "update": _words("client collection db session table"),
}
"""Cheap-looking method -> words in the object's name that say it is another method: ``queue.get`` is no ``dict.get``,
``thread.join`` no ``str.join``."""

LOGGERS = _words("log logger logging")
LOG_METHODS = _words("critical debug error exception info isEnabledFor log setLevel warn warning")
"""On an object named like one of LOGGERS these are messages for people: not the I/O of the program."""

EXCEPTION_ENDINGS = ("Error", "Exception", "Warning")
EXCEPTIONS = _words("ExceptionGroup GeneratorExit KeyboardInterrupt StopAsyncIteration StopIteration SystemExit")

# --- functions --------------------------------------------------------------------------------------------------------

FEW_STATEMENTS = 10
"""Without a loop, a ``with`` or a call that costs anything, so many statements at most are trivial. ``__init__`` may
store any number of arguments."""

KEPT_DUNDERS = _words("__call__ __enter__ __exit__ __getitem__ __init__ __next__")

LIFECYCLE_WORDS = _words("close finalize flush init load open save sync")
LIFECYCLE_PATTERNS = _words("*_close *_finalize *_flush *_init *_load *_open *_save *_sync checkpoint*")
"""Names of functions that open or end something, always in; compared without leading and trailing underscores."""

QUESTIONS = ("can_", "has_", "is_", "must_", "needs_", "should_", "supports_", "was_")
"""``is_open`` and ``needs_sync`` ask; they open and sync nothing."""

VALUE_DECORATORS = _words("cached_property deleter getter property setter")
"""A property called ``auto_save`` or ``checkpoint_path`` is a value."""

ABSTRACT_DECORATORS = _words("abstractclassmethod abstractmethod abstractproperty abstractstaticmethod")
OVERLOAD_DECORATORS = _words("typing.overload typing_extensions.overload")

# --- files ------------------------------------------------------------------------------------------------------------

TEST_DIRECTORIES = _words("_testing test testing tests unittests")
TEST_FILES = _words("*_test.py *_tests.py conftest.py test_*.py")
"""Not ``test.py``, which beside ``train.py`` is the program that evaluates a model."""

TEST_FILES_IMPORTING = {"tests.py": _words("django hypothesis nose pytest rest_framework testing twisted unittest")}
"""Files that hold tests only where they import one of those packages, or have tests without parameters: the
``tests.py`` of a template language is what its templates ask by."""

DOCS_DIRECTORIES = _words("doc docs")

BUILD_DIRECTORIES = _words("build dist")
"""At the project root only: further down they are packages of that name."""

BUILD_FILES = _words(
    """
    _version.py conanfile.py dodo.py ez_setup.py fabfile.py hatch_build.py noxfile.py setup.py toxfile.py
    versioneer.py
    """
)

BUILD_FILES_IMPORTING = {"tasks.py": "invoke"}
"""Files that are for building only where they import that package: ``tasks.py`` is a worker's program elsewhere."""

GENERATED_FILES = _words("*.gen.py *.generated.py *_generated.py *_pb2.py *_pb2_grpc.py lextab.py parsetab.py")

# --- the tables as sets -----------------------------------------------------------------------------------------------


def _calls(table: dict[str, tuple[str, ...]]) -> frozenset[str]:
    return frozenset(f"{module}.{name}" if module else name for module, names in table.items() for name in names)


_IO_CALLS = _calls(IO_FUNCTIONS)
_IO_MODULES = frozenset(IO_MODULES)
_IO_METHODS = frozenset(IO_METHODS)
_CHEAP_CALLS = _calls(CHEAP_FUNCTIONS)
_CHEAP_METHODS = frozenset(CHEAP_METHODS)
_DEAR_OBJECTS = {method: frozenset(words) for method, words in DEAR_OBJECTS.items()}
_LOGGERS = frozenset(LOGGERS)
_LOG_METHODS = frozenset(LOG_METHODS)
_EXCEPTIONS = frozenset(EXCEPTIONS)
_KEPT_DUNDERS = frozenset(KEPT_DUNDERS)
_VALUE_DECORATORS = frozenset(VALUE_DECORATORS)
_ABSTRACT_DECORATORS = frozenset(ABSTRACT_DECORATORS)
_OVERLOAD_DECORATORS = frozenset(OVERLOAD_DECORATORS)
_TEST_DIRECTORIES = frozenset(TEST_DIRECTORIES)
_DOCS_DIRECTORIES = frozenset(DOCS_DIRECTORIES)
_BUILD_DIRECTORIES = frozenset(BUILD_DIRECTORIES)
_BUILD_FILES = frozenset(BUILD_FILES)


# --- code -------------------------------------------------------------------------------------------------------------


def why_left_out(function: FunctionFacts, module: ModuleFacts) -> str | None:
    """``None`` where the function deserves tracing, else why not: ``overload``, ``abstract``, ``stub``, ``nested``,
    ``dunder`` or ``trivial``. Whether a decorator would do harm there is not asked."""
    if function.body == "stub" or function.decorators:
        reason = _why_without_code(function)
        if reason:
            return reason
    if "<locals>" in function.qualname:
        return "nested"
    name = function.name
    dunder = is_dunder(name)
    if dunder and name not in _KEPT_DUNDERS:
        return "dunder"
    if not dunder and _is_lifecycle(name) and _VALUE_DECORATORS.isdisjoint(map(_last, function.decorators)):
        return None
    return "trivial" if _is_trivial(function, module) else None


def why_file_left_out(path: str, module: ModuleFacts) -> str | None:
    """``None`` where the file's functions may deserve tracing, else ``test``, ``docs``, ``build`` or ``generated``.

    ``path`` is relative to the project root, with ``/``."""
    *folders, name = path.lower().split("/")
    if not _TEST_DIRECTORIES.isdisjoint(folders) or any(folder.endswith("_tests") for folder in folders):
        return "test"
    if _matches(name, TEST_FILES) or (name in TEST_FILES_IMPORTING and _has_tests(name, module)):
        return "test"
    if not _DOCS_DIRECTORIES.isdisjoint(folders):
        return "docs"
    if (folders and folders[0] in _BUILD_DIRECTORIES) or name in _BUILD_FILES:
        return "build"
    builder = BUILD_FILES_IMPORTING.get(name)
    if builder and builder in _imported_heads(module):
        return "build"
    if module.generated or _matches(name, GENERATED_FILES):
        return "generated"
    return None


@lru_cache(maxsize=1 << 16)
def call_cost(name: str, imported: bool) -> Cost:
    """What a call of ``name`` (dotted and resolved, as the facts have it) does: ``io``, which includes waiting; next to
    nothing (``cheap``); or ``work``, of which nothing is known.

    ``imported``: the name comes from an import, so that ``torch.add`` is not the ``add`` of a set called ``torch``, nor
    ``requests.pop`` a function of the package where ``requests`` is a list."""
    owner, dot, last = name.rpartition(".")
    if imported or not dot:
        if name in _CHEAP_CALLS:
            return "cheap"
        if name in _IO_CALLS:
            return "io"
    exception = _is_exception(last)
    if imported and not exception and _is_in_io_module(owner):
        return "io"
    if exception:
        return "cheap"
    if not dot:
        return "work"
    of = owner.rpartition(".")[2]
    if last in _LOG_METHODS and not _LOGGERS.isdisjoint(_words_in(of)):
        return "cheap"
    if last in _IO_METHODS:
        return "io"
    if last not in _CHEAP_METHODS:
        return "work"
    if last.startswith("__"):
        return "cheap"
    if owner in ("self", "cls") or _is_class_name(of) or (imported and not _is_constant_name(of)):
        return "work"
    dear = _DEAR_OBJECTS.get(last)
    return "io" if dear and not dear.isdisjoint(_words_in(of)) else "cheap"


def _why_without_code(function: FunctionFacts) -> str | None:
    decorators = function.decorators
    if not _OVERLOAD_DECORATORS.isdisjoint(decorators):
        return "overload"
    if function.body != "stub":
        return None
    ends = {_last(decorator) for decorator in decorators}
    if "overload" in ends:  # re-exported by a project's own module of typing names
        return "overload"
    return "stub" if _ABSTRACT_DECORATORS.isdisjoint(ends) else "abstract"


def _is_lifecycle(name: str) -> bool:
    bare = name.strip("_")
    return (bare in LIFECYCLE_WORDS or _matches(bare, LIFECYCLE_PATTERNS)) and not bare.startswith(QUESTIONS)


def is_short(function: FunctionFacts, module: ModuleFacts) -> bool:
    """Whether a call of the function is over so soon that what a decorator does beside it is most of its time: few
    statements, no loop, no ``with``, no I/O."""
    return _has_few_statements(function) and "io" not in _costs(function, module)


def _has_few_statements(function: FunctionFacts) -> bool:
    if function.has_loop or function.has_with:
        return False
    return function.statements <= FEW_STATEMENTS or function.name == "__init__"


def _is_trivial(function: FunctionFacts, module: ModuleFacts) -> bool:
    if not _has_few_statements(function):
        return False
    if function.is_async:
        return not function.calls  # what it calls, it may wait for
    return all(cost == "cheap" for cost in _costs(function, module))


def _costs(function: FunctionFacts, module: ModuleFacts) -> Iterator[Cost]:
    """What each call in the function costs, in the order of the source."""
    heads: frozenset[str] | None = None
    for call in function.calls:
        name = call.name
        head, dot, rest = name.partition(".")
        if not dot:
            cost = call_cost(name, False)
            yield "work" if cost == "cheap" and _is_shadowed(name, function, module) else cost
            continue
        if head in ("self", "cls"):
            imported = False
        elif not head:
            imported = "." in rest  # ``..config.read`` is a relative import, ``.read`` a method of an expression
        else:
            if heads is None:
                heads = _imported_heads(module)
            imported = head in heads
        yield call_cost(name, imported)


def _is_shadowed(name: str, function: FunctionFacts, module: ModuleFacts) -> bool:
    """Whether a built-in's name is the program's own here."""
    if any(parameter.name == name for parameter in function.parameters):
        return True
    return any(other.qualname == name for other in module.functions) or any(
        klass.qualname == name for klass in module.classes
    )


def _has_tests(name: str, module: ModuleFacts) -> bool:
    if not _imported_heads(module).isdisjoint(TEST_FILES_IMPORTING[name]):
        return True
    return any(f.name.startswith("test") and (not f.parameters or f.scope == "class") for f in module.functions)


def _imported_heads(module: ModuleFacts) -> frozenset[str]:
    return frozenset(target.partition(".")[0] for _, target in module.imports)


def _is_in_io_module(owner: str) -> bool:
    parts = owner.split(".")
    return not _IO_MODULES.isdisjoint(itertools.accumulate(parts, "{}.{}".format))


def _is_exception(name: str) -> bool:
    bare = name.lstrip("_")
    return bare in _EXCEPTIONS or (bare[:1].isupper() and bare.endswith(EXCEPTION_ENDINGS))


def _is_class_name(name: str) -> bool:
    bare = name.lstrip("_")
    return bare[:1].isupper() and not bare.isupper()


def _is_constant_name(name: str) -> bool:
    """Of what a module holds, ``REGISTRY`` and ``__version__`` are values; anything else may be a module as well."""
    return name.isupper() or name.startswith("__")


def _words_in(name: str) -> list[str]:
    return name.lower().split("_")


def _last(dotted: str) -> str:
    return dotted.rpartition(".")[2]


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
