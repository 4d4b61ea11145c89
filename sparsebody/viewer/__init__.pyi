"""Public names of `sparsebody.viewer`, loaded at first use."""

# ruff: noqa: I001

# A page of anything that moves
from .showing import (
    page_of as page_of,
    show as show,
)
from .page_file import (
    Page as Page,
)

# What is on it
from .viewer_pages import (
    motion_page as motion_page,
    order_page as order_page,
)

# Pictures and films of it
from .browser import (
    check_drawable as check_drawable,
    film_times as film_times,
    find_browser as find_browser,
    save_film as save_film,
    save_picture as save_picture,
)

# What can be chosen
from .choices import (
    COLORS as COLORS,
    THEMES as THEMES,
    VIEWS as VIEWS,
)
