"""The pytest plugin that runs inside a task's container: selects the listed tests and records what happens.

It is copied into the container as one file and loaded with `-p repair_pytest`. Standard library only; pytest 3.10 to
9.2, Python 2.7 to 3.13. It reads `in/select.json` beside its folder:

    {"ids": [...], "files": [...], "select": "ids" | "files" | "all", "skip": [...], "found": true | false}

(`files` may be globs; with `found` nobody has listed them, and what pytest itself would pass over is left out)
and appends one JSON array a line, at once, to `out/record-<worker>.jsonl` (`main` outside xdist):

    ["start", pytest version]              ["root", rootdir, working directory]
    ["nofile", path]                       ["conftest", directory, path, text]
    ["collect", id, outcome, text]         ["item", id, other form of it or null, [lengths of the groups' ids]]
    ["chosen", how many items will run]    ["run", id, node id if it differs]
    ["report", id, when, outcome, xfail, cause]                              ["done", id]
    ["internal", text]                     ["end", exit status]

Selection happens among what pytest collected, so an id that names nothing cannot stop the others.
"""

import fcntl
import fnmatch
import json
import os
import threading
import types

import pytest

# Kept apart from the modules: tests replace `os.open`, `json.dumps` and the like.
_open, _write, _stat, _fstat, _getpid = os.open, os.write, os.stat, os.fstat, os.getpid
_fcntl = fcntl.fcntl
_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_CWD = os.getcwd()
_PID = os.getpid()
_encode = json.JSONEncoder().encode
_MAX_TEXT = 20000


class Record(object):
    """Appends events to one file, once it is open; silent in a process that was forked from ours.

    Tests may reach the file. What anybody else does to it is said in it, by an event that no reader knows: a record
    that was changed is no evidence.
    """

    def __init__(self):
        self.path, self.early = None, []
        self.fd, self.identity = None, None
        self.sizes = None  # least and most bytes that the file may hold: a write may be interrupted
        self.lock = threading.RLock()

    def open(self, worker):
        """Name the file, and write what happened before its name was known."""
        self.path = os.path.join(_HERE, "out", "record-%s.jsonl" % worker)
        for event in self.early:
            self.write(*event)

    def write(self, *event):
        if _getpid() != _PID:
            return
        if self.path is None:
            self.early.append(event)
            return
        with self.lock:
            changed = self._look()
            if changed:
                self._append("changed by somebody else", changed)
            self._append(*event)

    def _append(self, *event):
        line = (_encode(event) + "\n").encode("ascii")
        size = _fstat(self.fd).st_size
        self.sizes = (size, size + len(line))
        _write(self.fd, line)

    def _look(self):
        """Have the file open; what has happened to it since our last line, if anything has."""
        before = self.identity
        if _identity(_fstat, self.fd) != before or _identity(_stat, self.path) != before or before is None:
            # a test may close every descriptor, and the number may be somebody else's by now
            self.fd = _open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            self.identity = _identity(_fstat, self.fd)
            _keep_from_children(self.fd)
        if before is None:
            return None
        if self.identity != before:
            return "another file has its name"
        size = _fstat(self.fd).st_size
        return None if self.sizes[0] <= size <= self.sizes[1] else "%d bytes for %d" % (size, self.sizes[1])


def _identity(stat, which):
    try:
        found = stat(which)
    except (OSError, TypeError):  # nothing is there, or nothing was open yet
        return None
    return found.st_dev, found.st_ino


def _keep_from_children(fd):
    _fcntl(fd, fcntl.F_SETFD, _fcntl(fd, fcntl.F_GETFD) | fcntl.FD_CLOEXEC)


def _text(value):
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    return value


def _said(value):
    """What an object says of itself, as text; Python 2 may not be able to."""
    if isinstance(value, (bytes, type(""))):
        return _text(value)
    try:
        return _text(str(value))
    except UnicodeError:
        args = getattr(value, "args", None)
        return _said(args[0]) if args and isinstance(value, BaseException) else _text(repr(value))


def _clean(nodeid):
    """A node id without the `()` segments of pytest 3."""
    return _text(nodeid).replace("::()", "")


def _path_of(node):
    return str(getattr(node, "path", None) or getattr(node, "fspath", ""))


class _Arguments(object):
    """Paths for pytest to collect, each once and none below another: pytest 3 finds nothing of the second."""

    def __init__(self):
        self.by_path = {}

    def append(self, arg):
        self.by_path.setdefault(os.path.abspath(arg), arg)

    def paths(self):
        return [path for path in self.by_path if os.path.isfile(path)]

    def spelt(self):
        folders = [path.rstrip(os.sep) + os.sep for path in self.by_path if os.path.isdir(path)]
        outer = [p for p in self.by_path if not any(p.startswith(folder) for folder in folders)]
        return [self.by_path[path] for path in sorted(outer)]


class Repair(object):
    """The hooks of one pytest session."""

    def __init__(self, early_config):
        with open(os.path.join(_HERE, "in", "select.json"), "rb") as stream:
            wanted = json.loads(stream.read().decode("utf-8"))
        self.ids, self.skip = frozenset(wanted["ids"]), frozenset(wanted["skip"])
        self.files, self.by_id = wanted["files"], wanted["select"] == "ids"
        self.as_given, self.by_chance = wanted["select"] == "all", wanted.get("found")
        self.record = Record()
        self.rootdir = str(getattr(early_config, "rootpath", None) or early_config.rootdir)
        # Two files may share a path where one is relative to a rootdir below or beside, the other to our own directory.
        self.by_cwd = not (_CWD + os.sep).startswith(self.rootdir.rstrip(os.sep) + os.sep)
        self.broken, self.causes, self.running = {}, {}, {}
        self.only, self.whole, self.named = None, [], frozenset()
        self.record.write("start", _text(pytest.__version__))
        self._guard_conftests(early_config.pluginmanager)

    # ---- conftests: one below the root that does not import takes its own directory's tests and nothing else

    def _guard_conftests(self, pluginmanager):
        original = pluginmanager._importconftest
        stubs = {}

        def importconftest(conftestpath, *args, **kwargs):
            path = str(conftestpath)
            if path in stubs:
                return stubs[path]
            try:
                return original(conftestpath, *args, **kwargs)
            except (Exception, SystemExit, pytest.skip.Exception) as error:
                directory = os.path.dirname(path)
                if not directory.startswith(self.rootdir.rstrip(os.sep) + os.sep):
                    raise
                self.broken[directory] = True
                raised = _raised(error)
                if isinstance(raised, pytest.skip.Exception):
                    self.record.write("collect", self._form(directory), "skipped", _said(raised))
                else:
                    text = _text(type(raised).__name__) + ": " + _said(raised)
                    self.record.write("conftest", self._form(directory), self._form(path), text)
                stubs[path] = types.ModuleType("conftest")
                return stubs[path]

        pluginmanager._importconftest = importconftest

    def _is_broken(self, path):
        return any(path.startswith(directory + os.sep) for directory in self.broken)

    # ---- what is collected

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config):
        # An xdist worker knows its name only now; its surroundings may hold the name of another pytest's worker.
        worker = getattr(config, "workerinput", None) or getattr(config, "slaveinput", None)
        if worker is None:
            _lead_a_group()
        self.record.open((worker.get("workerid") or worker.get("slaveid")) if worker else "main")
        # Of the options that a repo may set for itself, those that would blank the other tests.
        for name, value in (
            ("stepwise", False),
            ("stepwise_skip", False),
            ("stepwise_reset", False),
            ("collectonly", False),
            ("setuponly", False),
            ("setupplan", False),
            ("usepdb", False),
            ("trace", False),
            ("lf", False),
            ("failedfirst", False),
        ):
            if getattr(config.option, name, None):
                setattr(config.option, name, value)
        if self.as_given:
            return
        args, bracketed = _Arguments(), []
        for path, found in self._named(config):
            if found is None:
                self.record.write("nofile", path)
            elif self._is_broken(os.path.abspath(found)):
                continue
            elif "[" in found:  # pytest would read it as parameters: name the folder, and ignore what else is there
                bracketed.append(os.path.abspath(found))
                found = os.path.dirname(found[: found.index("[")]) or "."
                args.append(found)
            else:
                args.append(found)
                if os.path.isdir(os.path.join(_CWD, found)):
                    self.whole.append(os.path.abspath(found).rstrip(os.sep) + os.sep)
        if bracketed:
            self.only = frozenset(bracketed + args.paths())
        config.args[:] = args.spelt()
        self.named = frozenset(args.by_path)

    def _named(self, config):
        """Each file that is asked for, with where it is found."""
        for path in self.files:
            found = self._find(path)
            if found is None and ("*" in path or "?" in path):
                matches = [os.path.relpath(match, _CWD) for match in _glob(_CWD, path.split("/"))]
                matches = [match for match in matches if os.path.isdir(match) or _is_test_file(config, match)]
                for match in sorted(set(matches)) or [None]:
                    yield path, match
            elif found is None or not self.by_chance or _is_test_file(config, found):
                yield path, found

    def _find(self, path):
        if os.path.exists(os.path.join(_CWD, path)):
            return path
        rooted = os.path.join(self.rootdir, path)
        if os.path.exists(rooted):
            return rooted
        above = _CWD
        while self.by_chance and above != os.path.dirname(above):  # a diff's paths begin at the repo's root
            above = os.path.dirname(above)
            if os.path.exists(os.path.join(above, path)):
                return os.path.relpath(os.path.join(above, path), _CWD)
        return None

    def ignores(self, path):
        """Is this file or folder beside the listed ones, where a whole folder had to be named?"""
        if self.only is None:
            return None
        path = str(path)
        if any((path + os.sep).startswith(folder) for folder in self.whole):
            return None
        if os.path.isdir(path):
            below = path.rstrip(os.sep) + os.sep
            return None if any(wanted.startswith(below) for wanted in list(self.only) + self.whole) else True
        return None if path in self.only or os.path.basename(path) == "__init__.py" else True

    def pytest_sessionstart(self, session):
        self.record.write("root", self.rootdir, _CWD)

    def pytest_itemcollected(self, item):
        # The node id as it is now: xdist adds a suffix later.
        if self._is_broken(_path_of(item)):
            item._repair = None
            return
        item._repair = identity = self._identify(item)
        item.user_properties.insert(0, ("repair_nodeid", _encode(identity[0])))
        self.record.write("item", identity[0], identity[1], identity[2])

    def _identify(self, item):
        """(id, its other form or None, lengths of the ids of the groups that hold it)."""
        nodeid = _clean(item.nodeid)
        chain = item.listchain()
        files = [n for n in chain[:-1] if isinstance(n, pytest.File) and _path_of(n) == _path_of(item)]
        holder = files[-1] if files else chain[-1]
        prefix = _clean(holder.nodeid)
        rest = nodeid[len(prefix) :] if nodeid.startswith(prefix) else nodeid
        here = self._form(_path_of(item))
        if not prefix or prefix.startswith(".."):  # a file outside rootdir
            nodeid, prefix = here + rest, here
        other = here + rest if here != prefix else None
        if other and self.by_cwd:
            nodeid, other, prefix = other, nodeid, here
        lengths = {len(prefix)}
        for node in chain[chain.index(holder) : -1]:
            group = prefix + _clean(node.nodeid)[len(_clean(holder.nodeid)) :]
            if nodeid.startswith(group):
                lengths.add(len(group))
        callspec = getattr(item, "callspec", None)
        if callspec is not None and nodeid.endswith("[%s]" % _text(callspec.id)):
            lengths.add(len(nodeid) - len(_text(callspec.id)) - 2)
        lengths.discard(len(nodeid))
        return nodeid, other, sorted(lengths)

    def _form(self, path):
        """A path relative to the working directory, or as it is where it lies outside."""
        path = _text(path)
        return path[len(_CWD.rstrip(os.sep)) + 1 :] if path.startswith(_CWD.rstrip(os.sep) + os.sep) else path

    @pytest.hookimpl(hookwrapper=True)
    def pytest_make_collect_report(self, collector):
        outcome = yield
        if outcome.excinfo is not None and issubclass(outcome.excinfo[0], SystemExit):
            # a module that exits while it is imported takes its own tests and nobody else's, whatever the version
            outcome.force_result(_failed_collection(collector, "SystemExit: %s" % (outcome.excinfo[1],)))
        report = outcome.get_result()
        if report.outcome != "passed":
            where = _clean(report.nodeid)
            if not where or self.by_cwd:
                inner = where.partition("::")[1:] if where else ("", "")
                where = self._form(_path_of(collector)) + "".join(inner)
            self.record.write("collect", where, report.outcome, _long_text(report))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config, items):
        chosen = [item for item in items if self._wants(getattr(item, "_repair", None))]
        if len(chosen) < len(items):
            dropped = frozenset(map(id, items)) - frozenset(map(id, chosen))
            config.hook.pytest_deselected(items=[item for item in items if id(item) in dropped])
            items[:] = chosen

    def pytest_collection_finish(self, session):
        self.record.write("chosen", len(session.items))

    def _wants(self, identity):
        if identity is None:
            return False
        nodeid, other, lengths = identity
        if nodeid in self.skip or other in self.skip:
            return False
        if not self.by_id or nodeid in self.ids or other in self.ids:
            return True
        if any(nodeid[:length] in self.ids for length in lengths):
            return True
        shift = len(other) - len(nodeid) if other else 0
        return bool(other) and any(other[: length + shift] in self.ids for length in lengths)

    # ---- what runs

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        identity = getattr(item, "_repair", None)
        name = identity[0] if identity else _clean(item.nodeid)
        self.running[item.nodeid] = name
        self.record.write("run", name, _text(item.nodeid) if _text(item.nodeid) != name else None)
        outcome = yield
        if outcome.excinfo is None:
            self.record.write("done", name)

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_makereport(self, item, call):
        outcome = yield
        if outcome.excinfo is None:
            report = outcome.get_result()
            if report.outcome != "passed":
                self.causes[(report.nodeid, report.when)] = self._cause(report, call)

    def _cause(self, report, call):
        if isinstance(report.longrepr, tuple):
            return _said(report.longrepr[2])
        if hasattr(report, "wasxfail"):
            return _said(report.wasxfail)
        if call.excinfo is None:
            return _said(report.longrepr)
        kind = call.excinfo.type
        module = getattr(kind, "__module__", "") or ""
        name = getattr(kind, "__qualname__", kind.__name__)
        if module not in ("builtins", "exceptions"):
            name = "%s.%s" % (module, name)
        place = self._place(call.excinfo)
        return "%s at %s:%d" % (_text(name), place[0], place[1]) if place else _text(name)

    def _place(self, excinfo):
        """(file, line) of the last frame in the repo, else of the very last: where a reader should look."""
        frames = [(str(frame.path), frame.lineno + 1) for frame in excinfo.traceback]
        here = [f for f in frames if f[0].startswith(_CWD.rstrip(os.sep) + os.sep) and "site-packages" not in f[0]]
        path, line = (here or frames or [(None, 0)])[-1]
        return (self._form(path), line) if path else None

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report):
        if hasattr(report, "node") and report.nodeid not in self.running:
            if any(name == "repair_nodeid" for name, _ in getattr(report, "user_properties", ())):
                return  # an xdist worker has written it already; what has no property is the report of a crash
        name = self.running.get(report.nodeid, _clean(report.nodeid))
        cause = self.causes.pop((report.nodeid, report.when), "") if report.outcome != "passed" else ""
        if not cause and report.outcome == "failed":
            cause = _said(report.longrepr).strip().split("\n")[0]
        self.record.write("report", name, report.when, report.outcome, hasattr(report, "wasxfail"), cause[:_MAX_TEXT])

    def pytest_internalerror(self, excrepr):
        self.record.write("internal", _said(excrepr)[-_MAX_TEXT:])

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session, exitstatus):
        self.record.write("end", int(exitstatus))


def _glob(folder, parts):
    """Files and folders below a folder that fit a pattern's parts: `*` and `?` in a name, `**` for any folders."""
    if not parts:
        return [folder]
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    paths = [(name, os.path.join(folder, name)) for name in names if not name.startswith(".")]
    if parts[0] != "**":
        return [f for name, path in paths if fnmatch.fnmatchcase(name, parts[0]) for f in _glob(path, parts[1:])]
    inner = [path for _, path in paths if os.path.isdir(path) and not os.path.islink(path)]
    return _glob(folder, parts[1:]) + [f for path in inner for f in _glob(path, parts)]


def _is_test_file(config, path):
    """Would pytest look into this file where nobody names it?"""
    name = os.path.basename(path)
    for pattern in config.getini("python_files"):
        pattern = str(pattern)
        if fnmatch.fnmatch(path, "*" + pattern) if os.sep in pattern else fnmatch.fnmatch(name, pattern):
            return True
    return False


def _long_text(report):
    longrepr = report.longrepr
    if isinstance(longrepr, tuple):
        return _said(longrepr[2])
    return _said(getattr(report, "longreprtext", None) or longrepr)[-_MAX_TEXT:]


def _raised(error):
    """What a conftest raised; pytest may wrap it in an error of its own."""
    excinfo = getattr(error, "excinfo", None)
    if excinfo is not None:
        return excinfo[1]
    return getattr(error, "__cause__", None) or error


def _lead_a_group():
    """A test that kills its process group ends pytest, which is told from a container that somebody killed."""
    try:
        os.setpgid(0, 0)
    except OSError:
        pass  # it leads a session, and so a group, already


def _failed_collection(collector, message):
    try:
        from _pytest.reports import CollectErrorRepr, CollectReport
    except ImportError:  # pytest 3
        from _pytest.runner import CollectErrorRepr, CollectReport
    return CollectReport(collector.nodeid, "failed", CollectErrorRepr("E   " + message), [])


class _Nothing(pytest.File):
    """A listed file that no plugin collects: pytest would stop for everybody because it finds nothing in it."""

    def collect(self):
        return []


def _nothing(parent, path):
    if not hasattr(_Nothing, "from_parent"):
        return _Nothing(path, parent)
    return _Nothing.from_parent(parent, **{"path" if _VERSION >= 7 else "fspath": path})


class _Paths(object):
    """The hooks whose argument for a path has had two names."""

    def __init__(self, repair):
        self.repair = repair

    def ignore(self, path):
        return self.repair.ignores(path)

    def file(self, path, parent, outcome):
        if not outcome.get_result() and os.path.abspath(str(path)) in self.repair.named:
            outcome.force_result([_nothing(parent, path)])


_VERSION = int(pytest.__version__.split(".")[0])

if _VERSION >= 7:

    def _ignore(self, collection_path):
        return self.ignore(collection_path)

    def _file(self, file_path, parent):
        self.file(file_path, parent, (yield))
else:

    def _ignore(self, path):
        return self.ignore(path)

    def _file(self, path, parent):
        self.file(path, parent, (yield))


_Paths.pytest_ignore_collect = _ignore
_Paths.pytest_collect_file = pytest.hookimpl(hookwrapper=True)(_file)


def _restore_junitxml(pluginmanager):
    """A repo's `-p no:junitxml` unregisters pytest's own report, whose options stay known: bring it back."""
    if pluginmanager.get_plugin("junitxml") is None:
        import _pytest.junitxml as junitxml

        module = types.ModuleType("repair_junitxml")
        hooks = {k: v for k, v in vars(junitxml).items() if k != "pytest_addoption" and not k.startswith("__")}
        vars(module).update(hooks)
        pluginmanager.register(module, "repair-junitxml")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config, parser, args):
    _restore_junitxml(early_config.pluginmanager)
    repair = Repair(early_config)
    early_config.pluginmanager.register(repair, "repair")
    early_config.pluginmanager.register(_Paths(repair), "repair-paths")
