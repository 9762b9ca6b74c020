"""Python's control flow as calls: what a front end needs to run `if`, `while` and `for` elsewhere.

    sources     the syntax tree of a function
    exits       return, break, continue -> assignments and branches
    names       which variables blocks bind, and which are needed later
    rewriting   control flow -> calls of the bridge
    bridge      Python's own meaning of the calls, unless a value is traced
    mutations   objects that a block changed in place
    functions   the converted function, in the place of the user's

It knows nothing of arrays or of what tracing is: a Runtime tells.
"""

from frit.syntax.bridge import UNDEFINED, Counted, Runtime, Site, Variables, shown_name
from frit.syntax.exits import RESULT
from frit.syntax.functions import Converter, is_converted
from frit.syntax.mutations import Watch
from frit.syntax.sources import SourceNotFound
