"""Private posteriors for discrete data."""

import lazy_loader

__version__ = "0.3.0"

# The public names are those of the stub `__init__.pyi`, each imported from its room when it is first used: `import discreet` and
# `discreet --help` load no numerical library.
_listed, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    if name != "TableRelease":
        return _listed(name)
    import warnings

    from discreet.record.table_release import TableRelease

    words = "TableRelease is called Release from version 0.3 on; `release.by` has the columns of a table, and none for one variable"
    warnings.warn(words, DeprecationWarning, stacklevel=2)
    return TableRelease
