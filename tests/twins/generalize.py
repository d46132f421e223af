"""The slow twin of top-down local generalisation: sets of children, counted over and over."""

from collections.abc import Sequence

from queryveil.semantics.tree import TermTree

Members = list[int]


def _up(tree: TermTree, node: int) -> list[int]:
    way = [node]
    while tree.parent[way[-1]] >= 0:
        way.append(int(tree.parent[way[-1]]))
    return way


def _children(tree: TermTree, row: Sequence[int], node: int) -> frozenset[int]:
    ways = [_up(tree, leaf) for leaf in row]
    return frozenset(way[way.index(node) - 1] for way in ways if node in way[1:])


def _gain(tree: TermTree, row: Sequence[int], node: int) -> int:
    ways = [_up(tree, leaf) for leaf in row]
    return sum(int(tree.doubt[node] - tree.doubt[way[way.index(node) - 1]]) for way in ways if node in way[1:])


def divide(
    rows: Sequence[Sequence[int]], owner: Sequence[int], tree: TermTree, k: int
) -> list[tuple[Members, list[int]]]:
    """Return (members, cut) of every part."""

    def people(members: Members) -> int:
        return len({owner[member] for member in members})

    def balance(groups: list[Members], lost: dict[int, int]) -> tuple[list[Members], Members] | None:
        large = [group for group in groups if people(group) >= k]
        rest = sorted(member for group in groups if people(group) < k for member in group)
        while large and rest and people(rest) < k:
            filled = fill([list(group) for group in large], list(rest), lost)
            if filled is not None:
                return filled
            fewest = min(range(len(large)), key=lambda i: (people(large[i]), -i))
            rest = sorted(rest + large.pop(fewest))
        return (large, rest) if large else None

    def fill(large: list[Members], rest: Members, lost: dict[int, int]) -> tuple[list[Members], Members] | None:
        for group in sorted(large, key=people, reverse=True):
            price = {p: sum(lost[m] for m in group if owner[m] == p) for p in sorted({owner[m] for m in group})}
            for person in sorted(price, key=lambda p: price[p]):
                if people(rest) < k < people(group) and person not in {owner[m] for m in rest}:
                    rest += [m for m in group if owner[m] == person]
                    group[:] = [m for m in group if owner[m] != person]
        return (large, sorted(rest)) if people(rest) >= k else None

    def split(members: Members, cut: list[int], closed: set[int]) -> list[tuple[Members, list[int]]]:
        options = []
        for node in sorted(node for node in cut if tree.n_leaves[node] > 1 and node not in closed):
            by_children: dict[frozenset[int], Members] = {}
            for member in members:
                by_children.setdefault(_children(tree, rows[member], node), []).append(member)
            gains = {member: _gain(tree, rows[member], node) for member in members}
            large = [group for group in by_children.values() if people(group) >= k]
            total = sum(gains[m] for group in large for m in group)
            if large:
                options.append((-total, node, list(by_children.values()), gains))
        for _, node, groups, gains in sorted(options, key=lambda option: option[:2]):
            balanced = balance(groups, gains)
            if balanced is None:
                continue
            large, rest = balanced
            found = []
            others = [other for other in cut if other != node]
            for group in large:
                below = _children(tree, rows[group[0]], node)
                found += split(group, sorted([*others, *below]), closed)
            return found + (split(rest, cut, closed | {node}) if rest else [])
        return [(members, cut)]

    return split([h for h, row in enumerate(rows) if row], [0], set())
