"""The command line as a whole: what a failure is called before a command could say more."""

import pytest

from shoal.cli import main


def test_no_memory_at_the_start_is_no_internal_error(monkeypatch, capsys):
    def no_memory(**_: object) -> int:
        raise MemoryError

    monkeypatch.setattr(main, "_command", lambda: no_memory)
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        "shoal: there is not enough memory to run the command; allow more of it; nothing was written\n"
    )
