"""The API reference: a page for each public module of oskaar, found by itself.

A module is public unless it is listed in INNER; its public names are its `__all__`, or else what it defines without
an underscore. The pages are written to docs/api, which is not kept.
"""

from importlib import import_module
from inspect import getmodule, isclass, isfunction
from pathlib import Path
from pkgutil import iter_modules

import oskaar

INNER = {"__main__", "arrays", "guards", "inputs", "lazy", "memory", "requirements", "rows", "solvers", "threads"}
"""What users never name: how things are stored and solved, described in docs/how-it-works.md."""

RETURNED = {
    "oskaar.learners": [
        "learners.certificate.Certificate",
        "learners.certificate.Hindsight",
        "learners.change_points.Change",
        "learners.estimators.Estimator",
        "learners.estimators.Pending",
        "learners.labels.Labels",
        "learners.learner.Rounds",
        "inputs.Block",
        "inputs.Inputs",
        "memory.Cost",
    ]
}
"""What public methods take and return and nobody has to import."""

PAGE = """{title}
{rule}

.. automodule:: {module}
{groups}"""
GROUP = """
{title}
{rule}

.. autosummary::
   :nosignatures:

{names}

{entries}
"""


def modules():
    """The public modules, `oskaar` first.

    >>> "oskaar.losses" in modules(), "oskaar.solvers" in modules()
    (True, False)
    """
    inside = sorted(found.name for found in iter_modules(oskaar.__path__) if found.name not in INNER)
    return ["oskaar", *(f"oskaar.{name}" for name in inside)]


def names(module):
    """(classes, functions) that are public in a module.

    >>> "Gaussian" in names(import_module("oskaar.kernels"))[0]
    True
    """
    own = [n for n, value in vars(module).items() if not n.startswith("_") and getmodule(value) is module]
    public = {name: getattr(module, name) for name in getattr(module, "__all__", own)}
    if module is not oskaar:  # what is in `oskaar` itself is described there
        public = {name: value for name, value in public.items() if getattr(oskaar, name, None) is not value}
    order = list if module is oskaar else sorted
    return [order(n for n, value in public.items() if test(value)) for test in (isclass, isfunction)]


def entry(name, module):
    """The directive that describes a name, with what learners inherit from their base."""
    if isfunction(getattr(module, name)):
        return f".. autofunction:: {name}\n"
    inherited = "   :inherited-members:\n" if module is oskaar else ""
    return f".. autoclass:: {name}\n   :members:\n{inherited}"


def page(name):
    """The text of a module's page."""
    module = import_module(name)
    groups = [
        GROUP.format(
            title=title,
            rule="-" * len(title),
            names="\n".join(f"   {n}" for n in found),
            entries="\n".join(entry(n, module) for n in found),
        )
        for title, found in zip(("Classes", "Functions"), names(module), strict=True)
        if found
    ]
    groups += [
        f"\nWhat methods take and return\n----------------------------\n\n.. autoclass:: oskaar.{n}\n   :members:\n"
        if n == RETURNED[name][0]
        else f"\n.. autoclass:: oskaar.{n}\n   :members:\n"
        for n in RETURNED.get(name, [])
    ]
    return PAGE.format(title=name, rule="=" * len(name), module=name, groups="".join(groups))


def write(app, config):
    """Write the pages; those that have not changed are left alone, so that nothing is built twice."""
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    texts = {f"{name}.rst": page(name) for name in modules() if any(names(import_module(name)))}
    for old in folder.glob("*.rst"):
        if old.name not in texts:
            old.unlink()
    for name, text in texts.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app):
    """Sphinx calls this."""
    app.connect("config-inited", write)
    return {"parallel_read_safe": True}
