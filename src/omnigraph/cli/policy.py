"""`omnigraph policy`: checking, testing and explaining files of policies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from omnigraph.cli.output import print_json, print_table, print_text
from omnigraph.cli.session import EXIT_FAILED, AsJson, report_errors

app = typer.Typer(
    help="Check, test and explain files that say who may do what.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

PolicyFile = Annotated[Path, typer.Argument(help="The file of the policy.", metavar="FILE")]


@app.command("validate")
def validate(
    files: Annotated[list[Path], typer.Argument(help="Files of policies.", metavar="FILE...")],
    as_json: AsJson = False,
) -> None:
    """Say what is wrong with files of policies, with line and column."""
    with report_errors(as_json):
        from omnigraph.policy.read_bundle import read_bundle

        found = []
        for file in files:
            bundle = read_bundle(file)
            found.append(
                {
                    "file": str(file),
                    "about": "server" if bundle.is_for_server else "graph",
                    "rules": len(bundle.rules),
                    "actors": len(bundle.members),
                    "digest": bundle.digest,
                }
            )
    if as_json:
        print_json({"valid": True, "policies": found})
    else:
        for item in found:
            print_text(
                f"{item['file']} is valid: about a {item['about']}, {item['rules']} rules, "
                f"{item['actors']} actors"
            )


@app.command("test")
def test(
    file: PolicyFile,
    tests: Annotated[Path, typer.Option("--tests", help="The file of cases.")],
    as_json: AsJson = False,
) -> None:
    """Compare what a policy decides with what cases expect; fail when one differs."""
    with report_errors(as_json):
        from omnigraph.policy.cases import read_cases, run_cases
        from omnigraph.policy.read_bundle import read_bundle

        outcomes = run_cases(read_bundle(file), read_cases(tests))
    failed = sum(not outcome.passed for outcome in outcomes)
    cases = [outcome.to_json() for outcome in outcomes]
    if as_json:
        print_json({"passed": len(outcomes) - failed, "failed": failed, "cases": cases})
    else:
        print_table(
            ("case", "", "expected", "decision", "rule"),
            [
                [
                    item["id"],
                    "ok" if item["passed"] else "FAILED",
                    *(item[name] for name in ("expected", "decision", "rule")),
                ]
                for item in cases
            ],
        )
    if failed:
        raise typer.Exit(EXIT_FAILED)


@app.command("explain")
def explain(
    file: PolicyFile,
    actor: Annotated[str, typer.Option("--actor", help="Who acts.")],
    action: Annotated[str, typer.Option("--action", help="What they do.")],
    branch: Annotated[str | None, typer.Option("--branch", "-b", help="On which branch.")] = None,
    target_branch: Annotated[
        str | None, typer.Option("--target-branch", help="Into which branch it goes.")
    ] = None,
    query: Annotated[str | None, typer.Option("--query", help="By which stored query.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say whether something is allowed, and the rule that allows it."""
    with report_errors(as_json):
        from omnigraph.policy.gate import Gate
        from omnigraph.policy.read_bundle import read_bundle

        gate = Gate(read_bundle(file))
        found = gate.decide(actor, action, branch=branch, target_branch=target_branch, query=query)
    if as_json:
        print_json(
            {
                "decision": "allow" if found.allowed else "deny",
                "rule": found.rule,
                "reason": found.reason,
            }
        )
    else:
        print_text(f"{'allowed' if found.allowed else 'denied'}: {found.reason}")
