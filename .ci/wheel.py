"""Builds the wheel, installs it without extras in an empty environment, and tries it there."""

import json
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def do(*command: object) -> str:
    """The output of a command, which must succeed."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode:
        typed = " ".join(map(str, command))
        sys.exit(f"{typed}\nleft with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> None:
    """Say what is wrong and leave with 1, or that all is well."""
    with tempfile.TemporaryDirectory() as folder:
        quiet = ("--quiet", "--disable-pip-version-check")
        build = (sys.executable, "-m", "pip", "wheel", *quiet, "--no-deps", "--no-build-isolation")
        do(*build, "--wheel-dir", folder, ROOT)
        (wheel,) = Path(folder).glob("*.whl")
        inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
        kept = do("git", "-C", ROOT, "ls-files", "src").split("\n")
        wanted = {name.removeprefix("src/") for name in kept if name}
        if missing := sorted(wanted - inside):
            sys.exit(f"The wheel lacks {', '.join(missing)}.")
        if more := sorted(inside - wanted):
            sys.exit(f"The wheel has {', '.join(more)}, which git does not know.")
        place = Path(folder) / "venv"
        venv.create(place, with_pip=True)
        constraints = ("--constraint", ROOT / "constraints.txt")
        do(place / "bin/python", "-m", "pip", "install", *quiet, *constraints, wheel)
        omnimeter = place / "bin/omnimeter"
        print(do(omnimeter, "--version").strip())
        for kind in ("environment", "agent", "payoff", "protocol", "reproduction"):
            if not do(omnimeter, "list", kind).strip():
                sys.exit(f"The wheel lists no {kind}.")
        small = ("--exercises", "3", "--interactions", "20", "--seed", "0", "--json")
        out = ("--out", Path(folder) / "evaluation")
        told = do(omnimeter, "run", "--agent", "random", "--class", "cups", *small, *out)
        page = Path(json.loads(told)["report"])
        if "</html>" not in page.read_text(encoding="utf-8"):
            sys.exit("The report of the wheel is no page.")
    print(f"{wheel.name}: {len(inside)} files, installed and tried.")


main()
