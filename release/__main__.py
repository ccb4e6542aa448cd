"""``python -m release`` builds wheel and source distribution, checks and tries them; it uploads nothing."""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
OLDEST = ROOT / "release" / "oldest.txt"
PYTHONS = ("python3.11", "python3.12", "python3.13", "python3.14")


@dataclass(frozen=True)
class Trial:
    """An empty environment to try a file in."""

    python: str
    file: Path
    oldest: bool = False

    def __str__(self) -> str:
        return f"{version_of(self.python)}, {self.file.name}, {'oldest' if self.oldest else 'newest'} dependencies"


def run(*command: str | Path, cwd: Path = ROOT) -> None:
    """Run a command, and end if it fails."""
    subprocess.run([str(part) for part in command], cwd=cwd, check=True)


def version_of(python: str) -> str | None:
    """What a Python is, None where there is none."""
    if shutil.which(python) is None:
        return None
    done = subprocess.run([python, "--version"], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def build() -> tuple[Path, Path]:
    """Wheel and source distribution, with what they say of themselves checked."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", DIST)
    (wheel,), (source,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    run(sys.executable, "-m", "twine", "check", "--strict", wheel, source)
    return wheel, source


def check_version(wheel: Path) -> None:
    """The version is the newest of CHANGELOG.md, and that of CITATION.cff."""
    version = wheel.name.split("-")[1]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.findall(r"^## \[(\d[\w.]*)\]", changes, flags=re.MULTILINE)[0]
    (cited,) = re.findall(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), flags=re.MULTILINE)
    if not version == newest == cited:
        sys.exit(f"version {version}, but CHANGELOG.md has {newest} and CITATION.cff {cited}")


def attempt(trial: Trial) -> None:
    """Install a file into an empty environment, and use everything: without extras, then with them."""
    print(f"{trial}:", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(trial.python, "-m", "venv", "--without-pip", folder / "env")
        python = folder / "env" / "bin" / "python"
        smoke = Path(shutil.copy(ROOT / "release" / "smoke.py", folder))
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python, "install", "--quiet")
        limits = ("--constraint", OLDEST) if trial.oldest else ()
        run(*pip, *limits, trial.file)
        run(python, smoke, cwd=folder)
        run(*pip, *limits, f"{trial.file}[cli,plot]")
        run(python, smoke, "extras", cwd=folder)


def main() -> None:
    """Build, check and try."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "pythons", nargs="*", default=PYTHONS, help="commands that run a Python (default: all there are)"
    )
    pythons = [python for python in parser.parse_args().pythons if version_of(python)]
    wheel, source = build()
    check_version(wheel)
    trials = [Trial(pythons[0], wheel, oldest=True), Trial(pythons[0], source)]
    for trial in (*trials, *(Trial(python, wheel) for python in pythons)):
        attempt(trial)
    sizes = ", ".join(f"{path.name} {path.stat().st_size / 1e6:.2f} MB" for path in (wheel, source))
    print(f"\n{sizes}\nready to upload: twine upload {DIST.relative_to(ROOT)}/*; then tag the commit")


if __name__ == "__main__":
    main()
