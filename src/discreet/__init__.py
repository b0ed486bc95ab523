"""Private posteriors for discrete data."""

import lazy_loader

__version__ = "0.2.0"

# The public names are those of the stub `__init__.pyi`, each imported from its room when it is first used: `import discreet` and
# `discreet --help` load no numerical library.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
