from shelf.cli import main

raise SystemExit(main())
