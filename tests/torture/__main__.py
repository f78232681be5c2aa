"""Attack the package: ``python -m tests.torture [campaign ...]``; see docs/reliability.md."""

import argparse
import json
import os
import re
import sys
from collections import Counter
from pathlib import Path

from .runner import CAMPAIGNS, Campaign, build, campaign_module
from .worker import outcome


def arguments():
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("campaign", nargs="*", help=f"{', '.join(CAMPAIGNS)}; all if none is given")
    parser.add_argument("--seed", type=int, default=0, help="seed of all trials (default 0)")
    parser.add_argument("--trials", type=int, help="trials per campaign (default: the number of docs/reliability.md)")
    parser.add_argument("--minutes", type=float, help="time per campaign; another run goes on from there")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes (default 1)")
    parser.add_argument("--limit", type=float, help="CPU seconds until a trial counts as a hang")
    parser.add_argument("--case", action="append", help="only this case; may be repeated")
    parser.add_argument("--trial", type=int, help="repeat this trial of --case in this process")
    parser.add_argument("--out", type=Path, help="folder of the results (default out/torture)")
    chosen = parser.parse_args()
    if unknown := set(chosen.campaign) - set(CAMPAIGNS):
        parser.error(f"unknown campaign: {', '.join(unknown)}")
    if chosen.trial is not None and (len(chosen.campaign) != 1 or len(chosen.case or ()) != 1):
        parser.error("--trial needs one campaign and one --case")
    return chosen


def signature(fault):
    """Faults of one kind, with the same message (numbers aside) at the same place, are probably one."""
    words = fault["message"].strip().splitlines() or [""]
    places = [
        re.sub(r'.*/(?:hingeline|tests)/(.*)", line (\d+), in (.*)', r"\1:\3", one) for one in words if "File " in one
    ]
    ours = [place for place in places if "File " not in place and not place.startswith("torture/")]
    first = "" if fault["fault"] in ("hang", "crash") else words[0]
    where = (ours or places or ["?"])[0 if not first else -1]
    return fault["fault"], re.sub(r"[-+]?[0-9][0-9.e+-]*", "#", first)[:110], where.strip()


def report(campaigns):
    print(f"\n{'campaign':12} {'cases':>5} {'trials':>8} {'faults':>6}  outcomes")
    for campaign in campaigns:
        outcomes = campaign.outcomes()
        counts = ", ".join(f"{name} {count}" for name, count in outcomes.most_common() if name != "faults")
        trials = sum(tally.done for tally in campaign.tallies.values())
        print(f"{campaign.name:12} {len(campaign.tallies):5} {trials:8} {len(campaign.faults()):6}  {counts}")
    for campaign in campaigns:
        kinds = Counter(signature(fault) for fault in campaign.faults())
        examples = {signature(fault): fault for fault in campaign.faults()}
        for kind, count in kinds.most_common():
            print(f"\n{count} x {' | '.join(kind)}\n    {examples[kind]['repeat']}")


def main():
    chosen = arguments()
    if chosen.trial is not None:
        (name,), (case,) = chosen.campaign, chosen.case
        module = campaign_module(name)
        if hasattr(module, "environment") and "LD_PRELOAD" not in os.environ:  # the loader reads it once
            variables = module.environment(Campaign(name, chosen.seed, chosen.out).folder)
            os.execve(
                sys.executable, [sys.executable, "-m", "tests.torture", *sys.argv[1:]], {**os.environ, **variables}
            )
        found = outcome(module, name, chosen.seed, case, chosen.trial)
        print(json.dumps(found, indent=1).replace("\\n", "\n"))
        return int("fault" in found)
    campaigns, names = [], chosen.campaign or CAMPAIGNS
    if chosen.minutes:
        print(f"{len(names)} campaigns of {chosen.minutes:g} minutes: {len(names) * chosen.minutes:g} minutes in all")
    for name in names:
        campaign = Campaign(name, chosen.seed, chosen.out, chosen.case)
        print(f"{name}: seed {chosen.seed}, build {build()}, results in {campaign.file}", flush=True)
        seconds = 60 * chosen.minutes if chosen.minutes else None
        campaigns.append(campaign)
        try:
            campaign.run(chosen.trials, seconds, chosen.jobs, chosen.limit)
        except KeyboardInterrupt:
            print("interrupted; the same command goes on from here")
            break
    report(campaigns)
    return int(any(campaign.faults() for campaign in campaigns))


if __name__ == "__main__":
    sys.exit(main())
