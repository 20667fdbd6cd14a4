"""Load the recorder under a private name, as soon as torch.cuda.graphs has been imported.

Runs at the start of every recorded interpreter, so it imports next to nothing. The package is
called ``capture``, and so may be a file of the user's: ours is loaded as
``_cudagraph_lens_capture``, and ``import capture`` finds it only where the user has none.
"""

import os
import sys

PRIVATE = "_cudagraph_lens_capture"
PUBLIC = "capture"
TARGET = "torch.cuda.graphs"
PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def start(folder):
    """Wait for torch in this process; `folder` is the recording's."""
    if not os.path.isdir(folder):
        return  # the recording is over; this process outlived it
    sys.meta_path.insert(0, PublicName())
    sys.meta_path.insert(0, Waiter(folder))


def load():
    """Return the package, loaded once under its private name."""
    module = sys.modules.get(PRIVATE)
    if module is None:
        from importlib.util import module_from_spec, spec_from_file_location

        spec = spec_from_file_location(
            PRIVATE, os.path.join(PACKAGE, "__init__.py"), submodule_search_locations=[PACKAGE]
        )
        module = module_from_spec(spec)
        sys.modules[PRIVATE] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            sys.modules.pop(PRIVATE, None)
            raise
    return module


def attach(folder):
    """Start the recorder; torch.cuda.graphs is there."""
    try:
        load()
        from importlib import import_module

        import_module(PRIVATE + ".recorder.process").start(folder, sys.modules[TARGET])
    except Exception as error:
        _tell(folder, error)


def _tell(folder, error):
    """Leave a note in the recording, without any of the packages that may be missing."""
    import json
    import time

    if isinstance(error, ImportError) and error.name:
        text = f"{error.name} is not installed for {sys.executable}, which recording needs"
    else:
        text = f"the recorder did not start: {type(error).__name__}: {error}"
    line = json.dumps({"kind": "warning", "text": text, "pid": os.getpid()}) + "\n"
    name = f"journal-{os.getpid()}-{time.time_ns()}.jsonl"
    try:
        with open(os.path.join(folder, name), "x", encoding="utf-8") as stream:
            stream.write(line)
    except OSError:
        pass


def _find(name, path, target, without):
    for finder in list(sys.meta_path):
        if finder is without or not hasattr(finder, "find_spec"):
            continue
        spec = finder.find_spec(name, path, target)
        if spec is not None:
            return spec
    return None


class Waiter:
    """A finder that finds nothing itself, and acts after one module has been executed."""

    def __init__(self, folder):
        self.folder = folder

    def find_spec(self, name, path=None, target=None):
        """Return the module's own spec with a loader that tells us when it is done."""
        if name != TARGET:
            return None
        spec = _find(name, path, target, self)
        if spec is None or not hasattr(spec.loader, "exec_module"):
            return spec
        spec.loader = Loader(spec.loader, self)
        return spec

    def loaded(self):
        """Step aside and start the recorder."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        attach(self.folder)


class Loader:
    """Executes a module with its own loader, which it also puts back."""

    def __init__(self, own, waiter):
        self.own = own
        self.waiter = waiter

    def create_module(self, spec):
        """Leave it to the module's own loader."""
        return self.own.create_module(spec)

    def exec_module(self, module):
        """Execute, then tell."""
        module.__spec__.loader = self.own
        module.__loader__ = self.own
        self.own.exec_module(module)
        self.waiter.loaded()


class PublicName:
    """Gives ``import capture`` the package that is already loaded, unless the user has another."""

    def __init__(self):
        self.asking = False

    def find_spec(self, name, path=None, target=None):
        """Return a spec for our modules under their public name."""
        if name == PUBLIC:
            if self.asking:
                return None
            self.asking = True
            try:
                other = _find(name, path, target, self)
            finally:
                self.asking = False
            if other is not None and not self._is_ours(other):
                return None
        elif not name.startswith(PUBLIC + ".") or (
            sys.modules.get(PUBLIC) is not sys.modules.get(PRIVATE, self)
        ):
            return None
        from importlib.machinery import ModuleSpec

        return ModuleSpec(name, Alias(PRIVATE + name[len(PUBLIC) :]))

    def _is_ours(self, spec):
        if spec.origin is None:
            # A folder without __init__.py: not a package anybody wrote, so ours comes first.
            return True
        try:
            return os.path.samefile(spec.origin, os.path.join(PACKAGE, "__init__.py"))
        except OSError:
            return False


class Alias:
    """A loader whose module is another module that is already there."""

    def __init__(self, private):
        self.private = private
        self.spec = None

    def create_module(self, spec):
        """Return the module of the private name."""
        from importlib import import_module

        load()
        module = import_module(self.private)
        self.spec = module.__spec__
        return module

    def exec_module(self, module):
        """Do nothing but undo what importing a module does to its spec."""
        module.__spec__ = self.spec
