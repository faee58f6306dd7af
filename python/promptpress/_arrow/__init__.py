"""Arrow values on their way into the core and out of it: text of values, row selection, validation, sizes.

It is the first room that is imported, so pyarrow is first imported here.
"""

from promptpress._importing import import_pyarrow

import_pyarrow()
