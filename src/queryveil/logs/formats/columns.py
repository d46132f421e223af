"""Which column is the user, the query, the time, the rank and the url."""

from collections.abc import Iterable, Mapping, Sequence

from queryveil.core.errors import LogError
from queryveil.core.names import nearest

# What a column is called when nobody says: the first of these that the table has.
USUAL_NAMES = {
    "person": ("user", "user_id", "userid", "anonid", "client_id", "person", "uid"),
    "query": ("query", "user_query", "q", "keywords", "search", "term", "terms"),
    "time": ("time", "timestamp", "querytime", "query_time", "datetime", "date", "ts"),
    "rank": ("rank", "itemrank", "position"),
    "url": ("url", "clickurl", "click_url"),
}


def find_roles(where: str, names: Sequence[str], given: Mapping[str, str], *, shown: bool = False) -> dict[str, str]:
    """Return role → column; a user and a query are required.

    Names are shown in messages only where they cannot be content: the first line of a text file that should be its
    header may be somebody's query.
    """
    roles = usual_roles(names)
    for role, column in given.items():
        if column not in names:
            raise LogError(f"{where}: there is no column {column!r} for {role}; {_hint(column, names, shown)}")
        roles["person" if role == "user" else role] = column
    for role, word in (("person", "user"), ("query", "query")):
        if role not in roles:
            listed = f" ({', '.join(names[:8])})" if shown else ""
            raise LogError(
                f"{where}: none of the {len(names)} column names{listed} is that of a {word}, such as "
                f"{' or '.join(USUAL_NAMES[role][:3])}; name it with --columns {word}=COLUMN, or check the header "
                "and the delimiter."
            )
    for role, column in roles.items():
        if names.count(column) > 1:
            raise LogError(f"{where}: two columns have the name of the {role}; rename one of them.")
    return roles


def check_column(where: str, column: str, names: Sequence[str], *, shown: bool = False) -> None:
    """Refuse a column to partition by that is not there once."""
    if names.count(column) != 1:
        raise LogError(f"{where}: there is no single column {column!r} to partition by; {_hint(column, names, shown)}")


def _hint(column: str, names: Sequence[str], shown: bool) -> str:
    if shown:
        return nearest(column, names)
    return f"compare it with the {len(names)} column names of the file (case matters)."


def usual_roles(names: Iterable[str]) -> dict[str, str]:
    """Return role → column for columns of usual names."""
    by_lower = {name.strip().lower(): name for name in names}
    found = {}
    for role, usual in USUAL_NAMES.items():
        column = next((by_lower[name] for name in usual if name in by_lower), None)
        if column is not None:
            found[role] = column
    return found
