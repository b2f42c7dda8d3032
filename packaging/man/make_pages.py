#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the man pages: NAME.SECTION.md beside this file, with what they include from docs/, in man(7)'s language.

  make_pages.py --docs DIR --version VERSION OUTPUT

A page begins with "# NAME(SECTION)" and a line of what it is. `<!-- include FILE -->` puts a file of docs/ or of this
directory there, without its title and a level deeper than the heading above. The references of docs/ are compared with the
programs by tests, so that the pages agree with them too.
"""

import argparse
import glob
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
# What a link to another text becomes.
PAGES = {"packets.md": "weir(7)", "configuration.md": "weir.yaml(5)", "weirctl.md": "weirctl(1)",
         "proxy.md": "weir-proxy(8)"}
DOCUMENTS = "/usr/share/doc/weir"


def included(text, docs):
    """The text with its includes in place."""
    out, depth = [], 1
    for line in text.splitlines():
        if heading := re.match(r"(#+) ", line):
            depth = len(heading.group(1))
        found = re.fullmatch(r"<!-- include (\S+) -->", line)
        if not found:
            out.append(line)
            continue
        path = next(p for p in (f"{HERE}/{found.group(1)}", f"{docs}/{found.group(1)}") if os.path.exists(p))
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        fenced = False
        for inner in lines[1:] if lines[0].startswith("# ") else lines:
            fenced ^= inner.startswith("```")
            out.append("#" * (depth - 1) + inner if inner.startswith("##") and not fenced else inner)
    return out


def plain(text):
    """Text in roff: nothing in it is an instruction."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("^", "\\(ha").replace("~", "\\(ti")
    return text.replace("`", "\\(ga")


def breakable(text):
    """Long words may be broken where they have a seam, so that columns of tables hold them."""
    return re.sub(r"\S{12,}", lambda word: re.sub(r"(?<=[_/.,=])(?=\w)|(?<=[a-z])(?=[A-Z])", "\\\\:", word.group()), text)


def target(text, link):
    """A link's words, and where they lead."""
    name = os.path.basename(link.split("#")[0])
    if link.startswith("http"):
        return f"{text} ({link})"
    if name in PAGES:
        return PAGES[name] if text == name or text.startswith("docs/") else f"{text} ({PAGES[name]})"
    return f"{DOCUMENTS}/{name}" if text in (name, f"docs/{name}") else f"{text} ({DOCUMENTS}/{name})"


def inline(text):
    """Code in bold, emphasis, links."""
    text = re.sub(r"\[([^\]]+)\]\(([^)\s]+)\)", lambda m: target(m.group(1), m.group(2)), text)
    parts = re.split(r"(`[^`]+`|\*\*[^*]+\*\*|(?<![\w*])\*[^*\s][^*]*\*(?![\w*]))", text)
    out = ""
    for part in parts:
        if re.fullmatch(r"`[^`]+`", part):
            out += "\\fB" + breakable(plain(part[1:-1])) + "\\fR"
        elif re.fullmatch(r"\*\*[^*]+\*\*", part):
            out += "\\fB" + plain(part[2:-2]) + "\\fR"
        elif re.fullmatch(r"\*[^*]+\*", part):
            out += "\\fI" + plain(part[1:-1]) + "\\fR"
        else:
            out += plain(part)
    return guarded(out)


def guarded(line):
    """A line that begins with a control character would be taken for a request."""
    return "\\&" + line if line.startswith((".", "\\(aq")) else line


def cells(row):
    row = re.sub(r"^\||\|$", "", row.strip())
    return [cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", row)]


def definitions(head, rows):
    """A reference of keys or flags: a paragraph for each."""
    out = []
    for row in rows:
        values = dict(zip(head, row))
        out += [".TP", inline(row[0])]
        about = [inline(values["Meaning"])] if values["Meaning"] else []
        if "Allowed" in values:
            default = {"required": "required", "none": "no default"}.get(values["Default"], f"default {values['Default']}")
            about.append(inline(f"({values['Allowed']}; {default})"))
        elif values.get("Field"):
            about.append(inline(f"(field {values['Field']})"))
        out += about or ["\\&"]
    return out


def table(head, rows):
    out = [".PP", ".TS", "allbox tab(\x07);", " ".join(["lxb"] * len(head)), " ".join(["lx"] * len(head)) + "."]
    for row in [head] + rows:
        out.append("\x07".join("T{\n" + (inline(cell) or "\\&") + "\nT}" for cell in row))
    return out + [".TE", ".sp"]


def body(lines):
    """Blocks of Markdown, one after the other."""
    out, at = [], 0
    deep = False  # within the items of a list
    while at < len(lines):
        line = lines[at]
        if line.startswith("```"):
            end = next(i for i in range(at + 1, len(lines)) if lines[i].startswith("```"))
            out += [".PP", ".RS 4", ".nf"] + [guarded(plain(code)) or "\\&" for code in lines[at + 1:end]] + [".fi", ".RE"]
            at = end + 1
            continue
        if heading := re.match(r"(#+) (.*)", line):
            level, title = len(heading.group(1)), heading.group(2)
            if level == 2:
                out.append(f'.SH "{inline(title.upper() if title.islower() or title[0].isupper() else title)}"')
            elif level == 3:
                out.append(f'.SS "{inline(title)}"')
            else:
                out += [".PP", "\\fB" + inline(title).replace("\\fB", "").replace("\\fR", "\\fB") + "\\fR"]
            deep = False
        elif line.startswith("|") and at + 1 < len(lines) and re.match(r"\|[-| :]+\|$", lines[at + 1]):
            head, rows = cells(line), []
            at += 2
            while at < len(lines) and lines[at].startswith("|"):
                rows.append(cells(lines[at]))
                at += 1
            out += definitions(head, rows) + [".PP"] if head[0] in ("Key", "Flag") else table(head, rows)
            continue
        elif item := re.match(r"( *)(-|\d+\.) (.*)", line):
            mark = "\\(bu" if item.group(2) == "-" else item.group(2)
            out += [f".IP {mark} 4", inline(item.group(3))]
            deep = True
        elif not line.strip():
            following = lines[at + 1] if at + 1 < len(lines) else ""
            if following and not following.startswith((" ", "#", "|", "```", "- ")) and not re.match(r"\d+\. ", following):
                out.append(".PP")
                deep = False
        else:
            out.append(inline(line.strip() if deep else line))
        at += 1
    return out


def page(source, docs, version):
    """Name with section, and the page."""
    with open(source, encoding="utf-8") as file:
        first, _, rest = file.read().partition("\n")
    name, section = re.fullmatch(r"# (\S+)\((\d)\)", first).groups()
    about, _, rest = rest.strip().partition("\n")
    titles = {"1": "User commands", "5": "File formats", "7": "Overview", "8": "System administration"}
    head = ["'\\\" t", f'.TH {name.upper()} {section} "" "weir {version}" "{titles[section]}"', ".nh", ".ad l",
            ".SH NAME", f"{plain(name)} \\- {inline(about)}"]
    lines = head + body(included(rest, docs))
    # A paragraph that is followed by a section has nothing in it.
    text = re.sub(r"(?:\.PP\n)+(?=\.(?:PP|SH|SS|TP|IP)\b|$)", "", "\n".join(lines) + "\n")
    return f"{name}.{section}", text


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--docs", required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("output")
    options = parser.parse_args()
    os.makedirs(options.output, exist_ok=True)
    for source in sorted(glob.glob(f"{HERE}/*.[1-8].md")):
        name, text = page(source, options.docs, options.version)
        with open(f"{options.output}/{name}", "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
