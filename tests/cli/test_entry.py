"""The command line as a shell starts it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import ssgp

pytest.importorskip("typer", reason="the command line is not installed")


SOURCE = Path(ssgp.__file__).parents[1]


class TestProcess:
    """As a shell starts it."""

    def start(self, code_or_module, *arguments):
        environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
        command = [sys.executable, *code_or_module, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=False)

    def test_help_needs_nothing_heavy(self):
        code = (
            "import sys; sys.argv = ['ssgp', '--help']\n"
            "from ssgp.cli.entry import main\n"
            "try: main()\n"
            "except SystemExit: pass\n"
            "print(sorted({'numpy', 'sklearn', 'pyarrow', 'scipy'} & set(sys.modules)))"
        )
        done = self.start(["-c", code])
        assert "Usage: ssgp" in done.stdout
        assert done.stdout.splitlines()[-1] == "[]"

    def test_without_the_extra_it_says_how_to_get_it(self):
        code = (
            "import sys, importlib.abc\n"
            "class Missing(importlib.abc.MetaPathFinder):\n"
            "    def find_spec(self, name, *rest):\n"
            "        if name.partition('.')[0] in ('typer', 'rich'): raise ModuleNotFoundError(name=name)\n"
            "sys.meta_path.insert(0, Missing())\n"
            "from ssgp.cli.entry import main\n"
            "sys.exit(main())"
        )
        done = self.start(["-c", code])
        assert done.returncode == 1
        assert done.stdout == ""
        assert done.stderr == "ssgp: error: the command line needs typer and rich: pip install 'ssgp[cli]'\n"

    @pytest.mark.slow
    def test_the_module_runs(self, folder):
        done = self.start(["-m", "ssgp"], "inspect", folder / "m", "--json")
        assert done.returncode == 0
        assert json.loads(done.stdout)["classes"] == ["SpectralForestRegressor"]
        done = self.start(["-m", "ssgp"], "inspct")
        assert done.returncode == 2
        assert "Did you mean 'inspect'?" in done.stderr
