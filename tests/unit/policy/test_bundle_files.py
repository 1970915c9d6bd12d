"""Files of policies: everything that is wrong with one is told with its place, and nothing of it is used."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph.base.errors import BadInput, ParseError
from omnigraph.policy.actions import ON_BRANCH, ON_GRAPH, ON_SERVER, ON_TARGET
from omnigraph.policy.read_bundle import parse_bundle, read_bundle

HEAD = "version: 1\ngroups: {team: [ada]}\n"
RULE = HEAD + "rules:\n  - {id: a, allow: {actors: {group: team}, actions: [read]}}\n"


def rule(said: str) -> str:
    """A file whose only rule is on line 3, and says this of itself beside its group."""
    return HEAD + f"rules: [{{id: a, allow: {{actors: {{group: team}}, {said}}}}}]\n"


def data(said: str) -> str:
    """A file whose section about data begins on line 5."""
    return RULE + "data:\n" + said


WRONG = {
    "no version": ("groups: {}\n", "missing_field", 1, 1),
    "another version": ("version: 2\n", "bad_version", 1, 1),
    "a version that is true": ("version: true\n", "bad_version", 1, 1),
    "nothing": ("", "bad_type", 1, 1),
    "a list": ("- version: 1\n", "bad_type", 1, 1),
    "not YAML": ("version: [1\n", "not_yaml", 2, 1),
    "a second document": ("version: 1\n---\nversion: 1\n", "not_yaml", 2, 1),
    "a tag": ("version: !!python/name:os.system 1\n", "not_yaml", 1, 10),
    "a tag that does not fit": ("version: 1\ngroups: !!bool x\n", "not_yaml", 2, 9),
    "a tag that does not fit a key": ("version: 1\n? !!timestamp x\n: 1\n", "not_yaml", 2, 3),
    "a control character": ("version: 1\x00\n", "not_yaml", 1, 1),
    "an alias": ("version: 1\ngroups: {a: &a [x], b: *a}\n", "alias", 2, 24),
    "a merge key": ("version: 1\ngroups: &g {a: [x]}\nrules: [{<<: *g}]\n", "alias", 3, 14),
    "a key twice": ("version: 1\nversion: 1\n", "duplicate_key", 2, 1),
    "a group twice": ("version: 1\ngroups:\n  a: [x]\n  a: [y]\n", "duplicate_key", 4, 3),
    "a key that is a number": ("version: 1\ngroups: {1: [x]}\n", "bad_key", 2, 10),
    "an unknown member": ("version: 1\nrule: []\n", "unknown_field", 2, 1),
    "groups that are a list": ("version: 1\ngroups: [a]\n", "bad_type", 2, 1),
    "a group without actors": ("version: 1\ngroups:\n  a: []\n", "empty", 3, 3),
    "a group with a blank name": ("version: 1\ngroups:\n  ' ': [x]\n", "blank", 3, 3),
    "an actor with space around": ("version: 1\ngroups:\n  a: [x, ' y']\n", "blank", 3, 10),
    "an actor twice in a group": ("version: 1\ngroups:\n  a: [x, x]\n", "duplicate", 3, 10),
    "an actor that is a number": ("version: 1\ngroups: {a: [7]}\n", "bad_type", 2, 14),
    "an attribute that is a fraction": ("version: 1\nactors:\n  x: {level: 1.5}\n", "bad_type", 3, 7),
    "a protected branch that is blank": ("version: 1\nprotected_branches: ['']\n", "blank", 2, 22),
    "rules that are a mapping": (HEAD + "rules: {}\n", "bad_type", 3, 1),
    "a rule without id": (HEAD + "rules:\n  - allow: {}\n", "bad_id", 4, 5),
    "a blank id": (HEAD + "rules:\n  - {id: ' ', allow: {}}\n", "bad_id", 4, 6),
    "an id that is a number": (HEAD + "rules:\n  - {id: 1, allow: {}}\n", "bad_id", 4, 6),
    "two rules of one id": (
        RULE + "  - {id: a, allow: {actors: {group: team}, actions: [read]}}\n",
        "duplicate_id",
        5,
        6,
    ),
    "a rule that denies": (HEAD + "rules:\n  - {id: a, deny: {}}\n", "unknown_field", 4, 13),
    "a rule that says nothing": (HEAD + "rules:\n  - {id: a}\n", "missing_field", 4, 5),
    "a rule for nobody": (HEAD + "rules:\n  - {id: a, allow: {actions: [read]}}\n", "missing_field", 4, 13),
    "an unknown group": (
        HEAD + "rules:\n  - {id: a, allow: {actors: {group: tean}, actions: [read]}}\n",
        "unknown_group",
        4,
        30,
    ),
    "no actions": (rule("actions: []"), "empty", 3, 48),
    "actions that are a word": (rule("actions: read"), "bad_type", 3, 48),
    "an unknown action": (rule("actions: [reed]"), "unknown_action", 3, 58),
    "an action twice": (rule("actions: [read, read]"), "duplicate", 3, 64),
    "an unknown scope": (rule("actions: [read], branch_scope: main"), "bad_scope", 3, 65),
    "a scope that is a list": (rule("actions: [read], branch_scope: [any]"), "bad_scope", 3, 65),
    "both scopes": (
        rule("actions: [read, branch_merge], branch_scope: any, target_branch_scope: any"),
        "both_scopes",
        3,
        98,
    ),
    "stored queries for another action": (rule("actions: [read], queries: [q]"), "wrong_queries", 3, 65),
    "no stored queries": (rule("actions: [invoke_query], queries: []"), "empty", 3, 17),
    "graph_list with read": (rule("actions: [read, graph_list]"), "mixed_actions", 3, 48),
    "a rule about graphs beside one about the server": (
        RULE + "  - {id: b, allow: {actors: {group: team}, actions: [graph_list]}}\n",
        "mixed_actions",
        3,
        1,
    ),
    "data beside a rule about the server": (
        rule("actions: [graph_list]") + "data: {hidden: [{properties: [Person.a]}]}\n",
        "mixed_actions",
        3,
        1,
    ),
    "empty data": (RULE + "data:\n", "empty", 5, 1),
    "data that is a list": (RULE + "data: []\n", "bad_type", 5, 1),
    "an unknown member of data": (data("  row: x\n"), "unknown_field", 6, 3),
    "rows that are a list": (data("  rows: []\n"), "bad_type", 6, 3),
    "rows that are not Cedar": (data("  rows: permit(everybody);\n"), "not_cedar", 6, 3),
    "the second of three policies is not Cedar": (
        data(
            "  rows: |\n    permit(principal, action, resource);\n\n"
            "    forbid(principal, resource);\n    // end\n"
        ),
        "not_cedar",
        9,
        1,
    ),
    "a policy without its end": (
        data(
            "  rows: |\n    permit(principal, action, resource);\n    permit(principal, action, resource)\n"
        ),
        "not_cedar",
        8,
        1,
    ),
    "a template": (data("  rows: permit(principal == ?principal, action, resource);\n"), "template", 6, 3),
    "a group of Cedar that is not there": (
        data('  rows: |\n    // who\n    forbid(principal in Group::"tean", action, resource);\n'),
        "unknown_name",
        8,
        1,
    ),
    "an actor of Cedar whom nobody knows": (
        data('  rows: |\n    forbid(principal == Actor::"adda", action, resource);\n'),
        "unknown_name",
        7,
        1,
    ),
    "an action that rows are not asked for": (
        data('  rows: |\n    forbid(principal, action == Action::"raed", resource);\n'),
        "unknown_name",
        7,
        1,
    ),
    "hidden that is a mapping": (data("  hidden: {}\n"), "bad_type", 6, 3),
    "hidden that is a name": (data("  hidden: [Person.salary]\n"), "bad_type", 6, 12),
    "hidden without properties": (data("  hidden: [{from: [team]}]\n"), "empty", 6, 12),
    "a property without its type": (data("  hidden: [{properties: [salary]}]\n"), "bad_property", 6, 26),
    "a property without its name": (data("  hidden: [{properties: [Person.]}]\n"), "bad_property", 6, 26),
    "a word instead of properties": (data("  hidden: [{properties: a.b}]\n"), "bad_type", 6, 13),
    "hidden from an unknown group": (
        data("  hidden:\n    - {properties: [a.b], from: [team, tean]}\n"),
        "unknown_group",
        7,
        40,
    ),
    "hidden but for an unknown group": (
        data("  hidden:\n    - {properties: [a.b], except: [tean]}\n"),
        "unknown_group",
        7,
        36,
    ),
    "an unknown member of hidden": (
        data("  hidden:\n    - {properties: [a.b], group: [team]}\n"),
        "unknown_field",
        7,
        27,
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_told_with_its_place(name: str) -> None:
    text, *wanted = WRONG[name]
    with pytest.raises(ParseError) as refused:
        parse_bundle(text, "policy.yaml")
    told = [[item.code, item.line, item.column] for item in refused.value.diagnostics]
    assert wanted in told, refused.value.diagnostics
    assert refused.value.message.startswith("policy.yaml:")


@pytest.mark.parametrize(
    ("action", "scope", "is_right"),
    [
        (action, scope, action in takes)
        for action in sorted(ON_BRANCH | ON_TARGET | ON_GRAPH | ON_SERVER)
        for scope, takes in (("branch_scope", ON_BRANCH), ("target_branch_scope", ON_TARGET))
    ],
)
def test_a_scope_is_for_actions_on_branches_or_into_them(action: str, scope: str, is_right: bool) -> None:
    text = rule(f"actions: [{action}], {scope}: protected")
    if is_right:
        assert len(parse_bundle(text).rules) == 1
        return
    with pytest.raises(ParseError) as refused:
        parse_bundle(text)
    assert [item.code for item in refused.value.diagnostics] == ["wrong_scope"]


def test_all_that_is_wrong_is_told_at_once_in_the_order_of_the_file() -> None:
    text = (
        "version: 3\ngroups: {a: []}\nrules:\n  - {id: '', allow: {}}\ndata:\n  rows: nonsense\n"
        "  hidden: [{properties: [x], from: [b]}]\nmore: 1\n"
    )
    with pytest.raises(ParseError) as refused:
        parse_bundle(text)
    told = [(item.line, item.code) for item in refused.value.diagnostics]
    assert told == sorted(told, key=lambda item: item[0])
    assert {code for _, code in told} >= {
        *("bad_version", "empty", "bad_id", "missing_field", "not_cedar", "bad_property", "unknown_group"),
        "unknown_field",
    }


def test_a_file_is_about_graphs_or_about_the_server(tmp_path: Path) -> None:
    server = rule("actions: [graph_list]")
    for text, kind, other in ((RULE, "graph", "server"), (server, "server", "graph")):
        assert read_bundle(text, kind).rules  # type: ignore[arg-type]
        with pytest.raises(BadInput, match="a file of its own"):
            read_bundle(text, other)  # type: ignore[arg-type]


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"version: 1 # \xe9\n")
    for name in ("none.yaml", "latin"):
        with pytest.raises(BadInput, match=name):
            read_bundle(tmp_path / name)


def test_a_digest_is_of_what_is_said_and_not_of_how() -> None:
    other = (
        "# rules\nversion: 1\nrules:\n- allow:\n    actions: ['read']\n    actors: {group: team}\n  id: a\n"
    )
    assert parse_bundle(RULE).digest == parse_bundle(other + "groups:\n  team:\n  - ada\n").digest
    assert parse_bundle(RULE).digest != parse_bundle(RULE.replace("read", "export")).digest


def test_actors_name_their_groups_too() -> None:
    text = HEAD + "actors:\n  bob: {groups: [team, more], region: eu}\n  eve:\n"
    found = parse_bundle(text)
    assert found.members == {
        "ada": frozenset({"team"}),
        "bob": frozenset({"team", "more"}),
        "eve": frozenset(),
    }
    assert found.actors == {"bob": {"region": "eu"}, "eve": {}}
