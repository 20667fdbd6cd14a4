"""Sections of a report as text, Markdown or a page of HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .comparing.report import Section, Table


def clean(text: str) -> str:
    """Return text without what a terminal or a table would act on, and XML 1.0 cannot hold."""
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text)


def as_text(title: str, sections: Sequence[Section]) -> str:
    """Return plain text; columns are as wide as their widest cell."""
    lines = [clean(title)]
    for section in sections:
        lines += ["", clean(section.title)]
        width = max((len(name) for name, _ in section.facts), default=0)
        lines += [f"  {name:<{width}}  {clean(text)}" for name, text in section.facts]
        for table in section.tables:
            lines += ["", f"  {table.title}", *_columns(table)]
        if section.notes:
            lines.append("")
        lines += [f"  {clean(note)}" for note in section.notes]
    return "\n".join(lines) + "\n"


def _columns(table: Table) -> list[str]:
    cells = [table.columns, *[tuple(map(clean, row)) for row in table.rows]]
    widths = [max(len(row[at]) for row in cells) for at in range(len(table.columns))]
    return [
        "    "
        + "  ".join(
            f"{cell:>{width}}" if at in table.numbers else f"{cell:<{width}}"
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]


def as_markdown(title: str, sections: Sequence[Section]) -> str:
    """Return Markdown as GitHub shows it."""
    lines = [f"## {_escaped(title)}"]
    for section in sections:
        lines += ["", f"### {_escaped(section.title)}", ""]
        lines += [f"- **{_escaped(name)}**: {_escaped(text)}" for name, text in section.facts]
        for table in section.tables:
            lines += ["", f"**{_escaped(table.title)}**", ""]
            lines.append(f"| {' | '.join(table.columns)} |")
            marks = ["---:" if at in table.numbers else "---" for at in range(len(table.columns))]
            lines.append(f"| {' | '.join(marks)} |")
            lines += [f"| {' | '.join(map(_escaped, row))} |" for row in table.rows]
        if section.notes:
            lines.append("")
        lines += [f"> {_escaped(note)}" for note in section.notes]
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    found = clean(text)
    for sign in "\\`*_[]<>|#":
        found = found.replace(sign, f"\\{sign}")
    return found


_STYLE = (
    "body{font:14px system-ui,sans-serif;margin:2rem;max-width:80rem;color:#222;background:#fff}"
    "table{border-collapse:collapse;margin:.5rem 0}td,th{text-align:left;padding:.2rem .8rem "
    ".2rem 0;border-bottom:1px solid #ddd;vertical-align:top}.n{text-align:right}"
    "dt{font-weight:600;float:left;clear:left;width:12rem}dd{margin:0 0 .2rem 12rem}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}td,th"
    "{border-color:#444}}"
)


def as_html(title: str, sections: Sequence[Section]) -> str:
    """Return one page that needs nothing else."""
    parts = [
        "<!doctype html><html lang=en><head><meta charset=utf-8>",
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{html.escape(title)}</h1>",
    ]
    for section in sections:
        parts.append(f"<h2>{html.escape(section.title)}</h2>")
        facts = "".join(
            f"<dt>{html.escape(name)}</dt><dd>{html.escape(text)}</dd>"
            for name, text in section.facts
        )
        parts.append(f"<dl>{facts}</dl>")
        for table in section.tables:
            parts.append(f"<h3>{html.escape(table.title)}</h3><table><tr>")
            parts += [f"<th>{html.escape(name)}</th>" for name in table.columns]
            parts.append("</tr>")
            for row in table.rows:
                cells = (
                    f"<td{' class=n' if at in table.numbers else ''}>{html.escape(cell)}</td>"
                    for at, cell in enumerate(row)
                )
                parts.append(f"<tr>{''.join(cells)}</tr>")
            parts.append("</table>")
        parts += [f"<p>{html.escape(note)}</p>" for note in section.notes]
    return "\n".join([*parts, "</body></html>"]) + "\n"
