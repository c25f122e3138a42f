"""The SQL of two databases: macros, numbered parameters, and what is refused."""

import pytest

from persistence.dialect import POSTGRES, SQLITE


@pytest.mark.parametrize(
    ("written", "sqlite", "postgres"),
    [
        ("SELECT ?, ?", "SELECT ?, ?", "SELECT $1, $2"),
        ("SELECT ?2, ?1, ?2", "SELECT ?2, ?1, ?2", "SELECT $2, $1, $2"),
        ("SELECT ?12", "SELECT ?12", "SELECT $12"),
        ("SELECT :b, :a, :b", "SELECT :b, :a, :b", "SELECT $1, $2, $1"),
        ("SELECT '?' || ? || ':a ''@b(' || \"?\"", "SELECT '?' || ? || ':a ''@b(' || \"?\"",
         "SELECT '?' || $1 || ':a ''@b(' || \"?\""),
        ("FROM a @hint(NOT INDEXED) WHERE ?", "FROM a NOT INDEXED WHERE ?", "FROM a  WHERE $1"),
        ("FROM a @seek(b, b.id = a.id AND (b.at = ?))", "FROM a CROSS JOIN b ON b.id = a.id AND (b.at = ?)",
         "FROM a CROSS JOIN LATERAL (SELECT * FROM b WHERE b.id = a.id AND (b.at = $1) OFFSET 0) AS b"),
        ("@hint(+)user = ?", "+user = ?", "user = $1"),
        ("@greatest(a, coalesce(b, 0), ?)", "max(a, coalesce(b, 0), ?)", "greatest(a, coalesce(b, 0), $1)"),
        ("@typed(?, bigint)", "?", "CAST($1 AS bigint)"),
        ("@contains(a, ',)')", "(instr(a, ',)') > 0)", "(strpos(a, ',)') > 0)"),
        ("@sqlite(x(?, 1))@postgres(y(?, 2)) = ?", "x(?, 1) = ?", "y($1, 2) = $2"),
        ("@sqlite(:a)@postgres(:b) = :a", ":a = :a", "$1 = $2"),
        ("? IN @list_int(@greatest(?, ?))", "? IN (SELECT value FROM json_each(max(?, ?)))",
         "$1 IN (SELECT CAST(value AS bigint) AS value FROM json_array_elements_text(CAST(greatest($2, $3) AS json)))"),
        ("@rows(?, at bigint, a text, terms json) AS made",
         "(SELECT json_extract(value, '$[0]') AS at, json_extract(value, '$[1]') AS a,"
         " json_extract(value, '$[2]') AS terms FROM json_each(?)) AS made",
         "(SELECT CAST(value ->> 0 AS bigint) AS at, CAST(value ->> 1 AS text) AS a, value -> 2 AS terms"
         " FROM jsonb_array_elements(CAST($1 AS jsonb))) AS made"),
        ("@rows_in_order(?, at bigint) AS made",
         "(SELECT json_extract(value, '$[0]') AS at, key AS ordinal FROM json_each(?)) AS made",
         "(SELECT CAST(value ->> 0 AS bigint) AS at, ordinal FROM jsonb_array_elements(CAST($1 AS jsonb))"
         " WITH ORDINALITY AS element (value, ordinal)) AS made"),
    ],
)  # fmt: skip
def test_a_text_is_expanded_for_each_database(written: str, sqlite: str, postgres: str):
    assert SQLITE.text(written) == SQLITE.statement(written).sql == sqlite
    assert POSTGRES.text(written) == POSTGRES.statement(written).sql == postgres


def test_named_parameters_are_put_in_the_order_of_their_numbers():
    statement = POSTGRES.statement("SELECT :last, :first, :last")
    assert statement.ordered({"first": 1, "last": 2, "unused": 3}) == [2, 1]
    assert POSTGRES.statement("SELECT ?, ?").ordered((1, 2)) == (1, 2)


def test_a_text_is_expanded_once():
    text = "SELECT @greatest(1, 2)"
    assert SQLITE.text(text) is SQLITE.text(text)
    assert POSTGRES.statement(text) is POSTGRES.statement(text)


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        ("SELECT @smallest(1, 2)", "no macro @smallest"),
        ("SELECT @greatest(1, 2", "no end"),
        ("SELECT @hint(1", "no end"),
        ("SELECT ?, ?1", "two kinds"),
        ("SELECT ?1, :name", "two kinds"),
    ],
)
def test_a_wrong_text_is_refused(written: str, fault: str):
    for dialect in (SQLITE, POSTGRES):
        with pytest.raises(ValueError, match=fault):
            dialect.text(written)
