"""Objects looked up by their type, each built when it is first asked for."""

from collections.abc import Callable, Mapping
from typing import Any, Self, TypeVar

from queryveil.core.errors import InternalError

View = TypeVar("View")


class Views:
    """A container of objects by type; an object that has a provider is built on first use and cached."""

    def __init__(self, providers: Mapping[type[Any], Callable[[], Any]] | None = None) -> None:
        """Store how each object is built."""
        self._providers = dict(providers or {})
        self._views: dict[type[Any], Any] = {}

    @classmethod
    def of(cls, *views: object) -> Self:
        """Return a container of objects that exist already."""
        container = cls()
        container._views = {type(view): view for view in views}
        return container

    def add(self, view: type[View], provider: Callable[[], View]) -> None:
        """Say how a further object is built."""
        self._providers[view] = provider

    def remove(self, view: type[Any]) -> None:
        """Forget an object, or how it is built."""
        self._providers.pop(view, None)
        self._views.pop(view, None)

    def existing(self) -> tuple[object, ...]:
        """Return every object, building those that have not been asked for yet."""
        return tuple(filter(None, (self.find(view) for view in {**self._views, **self._providers})))

    def find(self, view: type[View]) -> View | None:
        """Return the object of a type, or None where there is none."""
        if view not in self._views:
            if view not in self._providers:
                return None
            self._views[view] = self._providers[view]()
        found: View = self._views[view]
        return found

    def get(self, view: type[View]) -> View:
        """Return the object of a type, which must be there."""
        found = self.find(view)
        if found is None:
            raise InternalError(f"there is no {view.__name__} to look at; please report this.")
        return found
