# SPDX-License-Identifier: Apache-2.0
"""The table of `top` as a widget of Textual: only the lines on the screen are drawn.

The `DataTable` of Textual measures every cell of new content, and jumps to its first row and back.
"""

import os

from rich.text import Text
from textual.events import Click
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from fss_toolbox.tables import GAP
from fss_toolbox.top.top_table import Cell, TopTable


def coloured(cell: Cell) -> Text:
    """Return a cell for the terminal."""
    return Text(cell.text, _allowed(cell.style))


def _allowed(style: str) -> str:
    """Return a style. Without colour only bold is left, because the text has the verdict."""
    return "bold" * ("bold" in style) if os.environ.get("NO_COLOR") else style


class LineTable(ScrollView, can_focus=True):
    """The titles of the columns, and below them rows with a cursor. `content` is what is drawn."""

    def __init__(self) -> None:
        super().__init__()
        self.content = TopTable()
        self._cursor = 0

    @property
    def key(self) -> str:
        """Key of the row under the cursor. Empty without rows."""
        return self.content.rows[self._cursor][0] if self.content.rows else ""

    def show(self, content: TopTable) -> None:
        """Draw other content. The cursor stays at the first row, or else follows its row."""
        first = self.scroll_offset.y
        is_seen = first <= self._cursor < first + self._height
        held = self.key if self._cursor else ""
        self.content = content
        keys = [key for key, _ in content.rows]
        self._cursor = keys.index(held) if held in keys else 0
        self.virtual_size = Size(1 + content.width, len(keys) + 1)
        if is_seen:
            self._scroll_to_cursor()
        self.refresh()

    @property
    def _height(self) -> int:
        """Rows that the screen has room for below the titles."""
        return max(1, self.size.height - 1)

    def _scroll_to_cursor(self) -> None:
        top = max(self.scroll_offset.y, self._cursor - self._height + 1)
        # forced, because Textual allows no scrolling before it has drawn a scroll bar for new content
        self.scroll_to(y=min(self._cursor, top), animate=False, immediate=True, force=True)

    def render_line(self, y: int) -> Strip:
        """Draw a line of the screen. The first one has the titles, which do not scroll up and down."""
        scrolled_x, first = self.scroll_offset
        width, row = self.size.width, first + y - 1
        if y == 0:
            titles = tuple(Cell(column.title, "bold") for column in self.content.columns)
            line = self._line(titles)
        elif row < len(self.content.rows):
            cells = self.content.rows[row][1]
            if row == self._cursor:  # one bar from edge to edge, in the colour of the name
                line = self._line(tuple(Cell(cell.text) for cell in cells))
                line.pad_right(max(0, width - line.cell_len))
                line.stylize(f"{_allowed(cells[0].style)} bold reverse")
            else:
                line = self._line(cells)
        else:
            return Strip.blank(width, self.rich_style)
        strip = Strip(line.render(self.app.console, end=""))
        return strip.crop_extend(scrolled_x, scrolled_x + width, self.rich_style).apply_style(self.rich_style)

    def _line(self, cells: tuple[Cell, ...]) -> Text:
        texts = [coloured(cell) for cell in cells]
        for text, column, width in zip(texts, self.content.columns, self.content.widths, strict=True):
            text.align("left" if column.left else "right", width)
        return Text(" ").append_text(Text(" " * GAP).join(texts))

    def go_to(self, key: str) -> None:
        """Move the cursor to the row with a key. It stays where it is if there is no such row."""
        for row, (own, _) in enumerate(self.content.rows):
            if own == key:
                self._move_to(row)

    def _move_to(self, row: int) -> None:
        self._cursor = max(0, min(row, len(self.content.rows) - 1))
        self._scroll_to_cursor()
        self.refresh()

    def action_scroll_up(self) -> None:
        """Go up a row."""
        self._move_to(self._cursor - 1)

    def action_scroll_down(self) -> None:
        """Go down a row."""
        self._move_to(self._cursor + 1)

    def action_page_up(self) -> None:
        """Go up a screen."""
        self._move_to(self._cursor - self._height)

    def action_page_down(self) -> None:
        """Go down a screen."""
        self._move_to(self._cursor + self._height)

    def action_scroll_home(self) -> None:
        """Go to the first row."""
        self._move_to(0)

    def action_scroll_end(self) -> None:
        """Go to the last row."""
        self._move_to(len(self.content.rows) - 1)

    async def on_click(self, event: Click) -> None:
        """Move the cursor to a row. A click on the row under the cursor opens it."""
        row = self.scroll_offset.y + event.y - 1
        if event.y == 0 or row >= len(self.content.rows):
            return
        if row == self._cursor:
            await self.run_action("app.open")
        self._move_to(row)
