"""Every path of the interface."""

from __future__ import annotations

from funke.ops.rest import (
    alarm_pages,
    application_pages,
    checkpoint_pages,
    cluster_pages,
    command_pages,
    content_pages,
    gateway_pages,
    job_pages,
    metric_pages,
    program_pages,
    rescale_pages,
    vertex_pages,
)
from funke.ops.rest.call import Route

__all__ = ["ROUTES"]


def _literal_first(route: Route) -> list[tuple[bool, str]]:
    """Orders paths so that `/jobs/overview` is found before `/jobs/{jobid}`."""
    return [(part.startswith("{"), part) for part in route.path.split("/")]


ROUTES: tuple[Route, ...] = tuple(
    sorted(
        (
            *cluster_pages.ROUTES,
            *alarm_pages.ROUTES,
            *application_pages.ROUTES,
            *program_pages.ROUTES,
            *job_pages.ROUTES,
            *command_pages.ROUTES,
            *rescale_pages.ROUTES,
            *checkpoint_pages.ROUTES,
            *content_pages.ROUTES,
            *gateway_pages.ROUTES,
            *vertex_pages.ROUTES,
            *metric_pages.ROUTES,
        ),
        key=_literal_first,
    )
)
