"""Docstrings of oskaar are plain text. This makes reStructuredText of them: they stay readable where they are.

name: what it is        a line that starts with a word and a colon is an entry of a list,
    and goes on         with what is indented below it
    a = b + c           an indented block after an empty line is shown as it is: equations
examples                with their prompts are examples
- item                  lists are lists
`code`                  is code; |x|, x_t, g*, y[i] mean nothing special
"""

import re

from docutils import nodes

FIELD = re.compile(r"^([A-Za-z_]\w*(?:, [A-Za-z_]\w*)*): (\S.*)$")
EMPHASIS = re.compile(r"(?<![^\s(])(\*\*?)(?=[A-Za-z])([^*]*[A-Za-z])\1(?![^\s.,;:)])")
EQUATION = re.compile(r" {5,}(\(\d+\))$", re.MULTILINE)
NUMBER = re.compile(r"^(\d+|[A-Za-z])([.)])(?=\s|$)")
ANY_TUPLE = r"~?(?:typing\.)?tuple\[~?(?:typing\.)?Any, \.\.\.\]"
ARRAY = re.compile(rf"~?(?:numpy\.)?ndarray\[{ANY_TUPLE}, ~?(?:numpy\.)?dtype\[~?(?:numpy\.)?float64\]\]")
PAGE = re.compile(r"\bdocs/([\w-]+)\.md\b")
SPECIAL = re.compile(r"([\\*_|<>\[\]`])")


def escaped(text):
    r"""Prose with what is special in reStructuredText made plain, and code in backticks kept.

    >>> escaped("`a_b` bounds |g*|_")
    '``a_b`` bounds \\|g\\*\\|\\_'
    >>> escaped("*any* y: g* <= **two** g*")
    '*any* y: g\\* \\<= **two** g\\*'
    >>> escaped("late (docs/late-labels.md)")
    'late (:doc:`docs/late-labels.md </late-labels>`)'
    """
    parts = re.split(r"``?([^`]+)``?", text)
    plain = "".join(f"``{part}``" if i % 2 else _marked(part) for i, part in enumerate(parts))
    return NUMBER.sub(r"\1\\\2", plain)  # not the first item of a numbered list


def _marked(text):
    """Plain text with emphasis kept and pages linked."""
    plain, *marks = EMPHASIS.split(text)
    out = SPECIAL.sub(r"\\\1", plain)
    for stars, inside, after in zip(marks[::3], marks[1::3], marks[2::3], strict=True):
        out += stars + SPECIAL.sub(r"\\\1", inside) + stars + SPECIAL.sub(r"\\\1", after)
    return PAGE.sub(r":doc:`\g<0> </\1>`", out)


def blocks(lines):
    """Runs of lines without an empty one between them, each with the indentation of its first line."""
    found, run = [], []
    for line in [*lines, ""]:
        if line.strip():
            run.append(line.rstrip())
        elif run:
            found.append(run)
            run = []
    return found


def indent(line):
    """How many blanks a line begins with."""
    return len(line) - len(line.lstrip())


def converted(lines):
    r"""The docstring as reStructuredText.

    >>> converted(["Two rows.", "", ">>> x", "[[0],", " [1]]"])[2:]
    ['>>> x', '[[0],', ' [1]]', '']

    >>> converted(["Sum.", "", "    a_1 + a_2", "", "n: how many", "    terms", ">>> 1"])
    ['Sum.', '', '::', '', '    a_1 + a_2', '', '- **n**: how many terms', '', '>>> 1', '']
    """
    out = []
    for k, run in enumerate(_split(blocks(lines))):
        if k == 0:
            out.append(escaped(" ".join(line.strip() for line in run)))
        elif run[0].lstrip().startswith(">>>"):
            out += [line[indent(run[0]) :] for line in run]
        elif indent(run[0]) > 0:
            out += ["::", "", *("    " + line[min(map(indent, run)) :] for line in run)]
        else:
            out += _prose(run)
        out.append("")
    return out


def _split(runs):
    """Examples, and indented lines below prose that is no list, as runs of their own."""
    for run in runs:
        start = 0
        for i, line in enumerate(run):
            example = line.lstrip().startswith(">>>") and not run[start].lstrip().startswith(">>>")
            deeper = indent(line) > 0 and indent(run[start]) == 0 and not any(map(_is_item, run[start:i]))
            back = indent(line) == 0 and indent(run[start]) > 0
            inside = run[start].lstrip().startswith(">>>")
            if i > start and (example or ((deeper or back) and not inside)):
                yield run[start:i]
                start = i
        yield run[start:]


def _is_item(line):
    return bool(FIELD.match(line)) or line.startswith(("- ", "* "))


def _prose(run):
    """A paragraph, or the entries of a list."""
    items = []
    for line in run:
        if _is_item(line) or not items:
            items.append([line])
        else:
            items[-1].append(line)
    out = []
    for item in items:
        text = " ".join(line.strip() for line in item)
        field = FIELD.match(text)
        if field:
            out.append(f"- **{escaped(field[1])}**: {escaped(field[2])}")
        elif text.startswith(("- ", "* ")):
            out.append(f"- {escaped(text[2:])}")
        else:
            out += [escaped(text), ""]
    return out if out[-1] else out[:-1]


def convert(app, what, name, thing, options, lines):
    """Sphinx calls this for every docstring; those of other libraries stay as they are."""
    if name.startswith("oskaar"):
        lines[:] = converted(lines)


def trim(app, doctree):
    """Code without the empty line that doctests in Markdown need before the fence; numbers of equations close by."""
    for node in doctree.findall(nodes.literal_block):
        text = EQUATION.sub(r"    \1", node.astext().rstrip())
        if len(node.children) == 1:
            node.rawsource, node.children = text, [nodes.Text(text)]


def shorten(app, what, name, thing, options, signature, returns):
    """An array is an Array, as in the code."""
    return tuple(ARRAY.sub("Array", text) if text else text for text in (signature, returns))


def skip(app, what, name, thing, skipped, options):
    """Leave out what scikit-learn adds to its estimators, whose docstrings are not ours."""
    return True if name.startswith("set_") and name.endswith("_request") else None


def setup(app):
    """Sphinx calls this."""
    app.connect("autodoc-process-signature", shorten)
    app.connect("doctree-read", trim)
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-docstring", convert)
    return {"parallel_read_safe": True}
