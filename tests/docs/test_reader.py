"""The reader of our pages finds what is not true of them."""

import pytest
from examples import Reader, blocks, masked

from shoal.errors import BadPolicy

PYTHON = "```python\nprint(1 + 1)\n```\n\n"


@pytest.fixture
def reader(tmp_path):
    return Reader(tmp_path, " ".join)


def test_a_page_with_true_output_is_unchanged(reader):
    page = PYTHON + "```text\n2\n```\n\n```console\n$ shoal a 1\na 1\n$ shoal b\nb\n```\n"
    assert reader.read(page) == page


def test_wrong_output_is_corrected(reader):
    assert reader.read(PYTHON + "```text\n3\n```\n") == PYTHON + "```text\n2\n```\n"
    assert reader.read("```console\n$ shoal a\nb\n```\n") == "```console\n$ shoal a\na\n```\n"
    silent = "```python\nx = 1\n```\n\n```text\n%s```\n"
    assert reader.read(silent % "1\n") == silent % "\n"


def test_blocks_with_a_title_are_files(reader, tmp_path):
    page = '```csv title="data/a.csv"\nage\n31\n```\n\n```console\n$ cat data/a.csv\nage\n31\n```\n'
    assert reader.read(page) == page
    assert (tmp_path / "data" / "a.csv").read_text() == "age\n31\n"


@pytest.mark.parametrize(
    ("page", "says"),
    [
        (PYTHON, "what the last example prints is not shown"),
        (PYTHON + "Words.\n\n```text\n2\n```\n", "line 7: what the example above prints is not shown"),
        ("```bash\nls\n```\n", "a block of 'bash' would not be run"),
        ("```csv\n1\n```\n", "a block of 'csv' would not be run"),
        ("```console\n$ pip install other\n```\n", "other is not this project"),
        ("```console\n$ pip install shoal[other]\n```\n", "shoal"),
    ],
)
def test_examples_that_would_not_be_run_are_refused(reader, page, says):
    with pytest.raises(AssertionError) as refused:
        reader.read(page)
    assert says in str(refused.value)


def test_a_toml_block_must_be_a_valid_part_of_a_policy(reader):
    reader.read('```toml\n[method]\nalgorithm = "mondrian"\n```\n')
    with pytest.raises(BadPolicy):
        reader.read('```toml\n[method]\nalgorithm = "mondriaan"\n```\n')


def test_only_times_and_our_version_are_masked():
    assert masked("7 of 8 in 0.05 s by shoal 0.1.0 ") == "7 of 8 in … s by shoal …"
    assert masked("l = 2.75") == "l = 2.75"


def test_blocks_know_their_line_and_whether_they_follow_another():
    first, second = blocks("# A\n\n```python\n1\n```\n\n```text\n2\n```\n")
    assert (first.line, first.follows, second.line, second.follows) == (3, False, 7, True)
