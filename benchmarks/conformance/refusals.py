"""The file of the programs that are refused: a line of each, sorted, with its name, a tab and the reason."""

import re


def without_places(reason):
    """A reason in one line, without the file that the compiler read and the place in it."""
    return " ".join(re.sub(r"\S*/\S+:\d+:\d+: (error: )?", "", reason).split())


def add_options(parser):
    parser.add_argument("--refused", metavar="FILE", help="writes the programs that are refused, with the reasons")
    parser.add_argument("--expect", metavar="FILE", help="fails where a file of --refused says anything else")


def finish(options, results, is_selected):
    """Writes and compares what --refused and --expect ask for. `results`: name, kind and reason of each program; `is_selected`:
    whether one of this name is in this run. Returns whether nothing differs."""
    refused = {name: without_places(reason) for name, kind, reason in results if kind == "refused"}
    if options.refused:
        with open(options.refused, "w", encoding="utf-8") as file:
            file.writelines(f"{name}\t{reason}\n" for name, reason in sorted(refused.items()))
    if not options.expect:
        return True
    with open(options.expect, encoding="utf-8") as file:
        lines = dict(line.rstrip("\n").split("\t", 1) for line in file)
    expected = {name: reason for name, reason in lines.items() if is_selected(name)}
    kinds = {name: kind for name, kind, _ in results}
    differences = []
    for name in sorted({*refused, *expected}):
        if name not in expected:
            differences.append(f"{name}: newly refused: {refused[name]}")
        elif name not in refused:
            differences.append(f"{name}: {kinds.get(name, 'no such program')}, expected as refused: {expected[name]}")
        elif refused[name] != expected[name]:
            differences.append(f"{name}: refused for another reason: {refused[name]}; expected: {expected[name]}")
    differences += [f"{name}: {kind}: {reason}" for name, kind, reason in sorted(results)
                    if kind not in ("right", "passed", "refused", "no check") and name not in expected]
    for each in differences:
        print(each)
    print(f"{options.expect}: {len(expected)} of these programs, {len(differences)} differences")
    return not differences
