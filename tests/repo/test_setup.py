"""The set-up scripts on machines that lack something; each machine is a folder of commands that is the whole PATH."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repo.tree import ROOT

TOOLS = ["sh", "cat", "cksum", "dirname", "head", "mkdir", "mktemp", "readlink", "rm", "sed", "tail"]


class Machine:
    """A PATH with a few commands and no more. Fake commands are shell texts, in which $HERE is that folder."""

    def __init__(self, folder: Path, *, root: bool) -> None:
        self.bin = folder / "bin"
        self.bin.mkdir()
        for tool in TOOLS:
            found = shutil.which(tool)
            assert found
            (self.bin / tool).symlink_to(found)
        self.has("id", f"echo {0 if root else 1000}")

    def has(self, name: str, text: str) -> None:
        path = self.bin / name
        path.write_text(f"#!{self.bin}/sh\nHERE={self.bin}\n{text}\n")
        path.chmod(0o755)

    def run(self, script: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(ROOT / "scripts" / script)],
            env={"PATH": str(self.bin), **environment},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


@pytest.fixture
def user(tmp_path: Path) -> Machine:
    return Machine(tmp_path, root=False)


@pytest.fixture
def root(tmp_path: Path) -> Machine:
    return Machine(tmp_path, root=True)


def _java(version: str) -> str:
    return f"""echo 'openjdk version "{version}" 2024-01-01' >&2"""


def _apt(package: str, then: str) -> str:
    """An apt-get that knows one package."""
    return f'case "$*" in *update*) ;; *" {package}") {then} ;; *) echo "no such package"; exit 100 ;; esac'


@pytest.mark.parametrize("version", ["17", "17.0.9", "21.0.1", "25"])
def test_new_enough_java_passes_in_silence(user: Machine, version: str) -> None:
    user.has("java", _java(version))
    done = user.run("java")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(("version", "said"), [("11.0.2", "Java 11"), ("1.8.0_392", "Java 8"), ("16", "Java 16")])
def test_old_java_is_refused_by_its_version_in_one_line(user: Machine, version: str, said: str) -> None:
    user.has("java", _java(version))
    done = user.run("java")
    assert done.returncode == 1
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_java_version_is_read_from_the_release_file_without_starting_it(user: Machine, tmp_path: Path) -> None:
    (tmp_path / "release").write_text('IMPLEMENTOR="x"\nJAVA_VERSION="21.0.4"\n')
    user.has("java", "exit 1")
    assert user.run("java").returncode == 0


def test_missing_java_is_one_line_with_what_to_install(user: Machine) -> None:
    done = user.run("java")
    assert done.returncode == 1
    assert "none is on the PATH" in done.stderr
    assert "openjdk-17-jre-headless" in done.stderr
    assert done.stderr.count("\n") == 1


def test_user_who_is_not_root_installs_nothing(user: Machine) -> None:
    user.has("apt-get", "echo called > $HERE/called")
    assert user.run("java").returncode == 1
    assert not (user.bin / "called").exists()


@pytest.mark.parametrize("version", ["21", "17"])
def test_root_installs_the_newest_java_that_apt_has(root: Machine, version: str) -> None:
    root.has("ready", _java(version))
    root.has("cp", f"exec {shutil.which('cp')} $HERE/ready $HERE/java")
    root.has("apt-get", _apt(f"openjdk-{version}-jre-headless", "cp"))
    done = root.run("java")
    assert (done.returncode, done.stderr) == (0, "")
    assert (root.bin / "java").exists()


def test_failed_install_of_java_shows_what_apt_said(root: Machine) -> None:
    root.has("apt-get", "echo no network; exit 100")
    done = root.run("java")
    assert done.returncode == 1
    assert "no network" in done.stderr


def test_java_home_goes_before_the_path_as_spark_has_it(user: Machine, tmp_path: Path) -> None:
    user.has("java", _java("17"))
    home = tmp_path / "home" / "bin"
    home.mkdir(parents=True)
    shutil.copy(user.bin / "java", home / "java")
    (home.parent / "release").write_text('JAVA_VERSION="11.0.2"\n')
    done = user.run("java", JAVA_HOME=str(home.parent))
    assert done.returncode == 1
    assert "JAVA_HOME names Java 11" in done.stderr


def _python(*, old: bool = False, bare: bool = False) -> str:
    """A Python of which only the version, or only what makes virtual environments, is another than ours."""
    without = '*ensurepip*) [ -f "$HERE/fixed" ]; exit $? ;;' if bare else ""
    refuse = "*version_info*implementation*) exit 1 ;;" if old else '*_base_executable*) echo "$0"; exit ;;'
    return f'case "$*" in {without} {refuse} esac\nexec {sys.executable} "$@"'


def test_python_is_found_behind_an_old_one_and_a_broken_shim(user: Machine) -> None:
    user.has("python3", _python(old=True))
    user.has("python3.13", "echo 'shim: no such version' >&2; exit 127")
    user.has("python3.12", _python())
    done = user.run("python")
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, str(user.bin / "python3.12"), "")


def test_no_python_is_one_clear_line(user: Machine) -> None:
    user.has("python3", _python(old=True))
    done = user.run("python")
    assert done.returncode == 1
    assert "no Python 3.11 or newer" in done.stderr
    assert done.stderr.count("\n") == 1


def test_python_that_can_make_environments_goes_before_one_that_cannot(user: Machine) -> None:
    user.has("python3", _python(bare=True))
    user.has("python3.11", _python())
    assert user.run("python").stdout.strip() == str(user.bin / "python3.11")


def test_python_without_venv_names_the_package_to_install(user: Machine) -> None:
    user.has("python3", _python(bare=True))
    done = user.run("python")
    assert done.returncode == 1
    assert f"apt install python{sys.version_info[0]}.{sys.version_info[1]}-venv" in done.stderr
    assert done.stderr.count("\n") == 1


def test_root_installs_the_venv_package(root: Machine) -> None:
    root.has("python3", _python(bare=True))
    root.has("apt-get", _apt(f"python{sys.version_info[0]}.{sys.version_info[1]}-venv", ': > "$HERE/fixed"'))
    done = root.run("python")
    assert (done.returncode, done.stdout.strip()) == (0, str(root.bin / "python3"))
