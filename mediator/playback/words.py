"""What the record says of what could not go on where a fork went live. A replay of it ends it so, too."""

from typing import Final

NO_MORE: Final = "the run went live, and the recording has no more of this answer"
NOT_THE_RECORDED: Final = "the run went live before its end, and the recording has no answer to it"
WENT_LIVE: Final = "the run went live, and what was open by then cannot go on"
