//! The operations that a program is made of: their names, and how many operands each takes.

/// As many operands as are given.
const ANY: usize = usize::MAX;

macro_rules! operations {
    ($own:ident: $($variant:ident = $name:literal $least:literal $most:expr;)+) => {
        /// An operation on values. Each is Python's own, as the model in `tests/jinja/model.py` writes it down.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "each is named after what it does in Python")]
        pub enum $own {
            $($variant,)+
        }

        impl $own {
            /// The operation of this name.
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)+
                    _ => None,
                }
            }

            /// The fewest and the most operands that it takes.
            pub fn operands(self) -> (usize, usize) {
                match self {
                    $(Self::$variant => ($least, $most),)+
                }
            }
        }
    };
}

operations! {
    Operation:
    Text = "text" 1 1;
    Repr = "repr" 1 1;
    Concat = "concat" 0 ANY;
    Item = "item" 2 2;
    Slice = "slice" 4 4;
    Length = "length" 1 1;
    Add = "add" 2 2;
    Sub = "sub" 2 2;
    Mul = "mul" 2 2;
    FloorDiv = "floordiv" 2 2;
    TrueDiv = "truediv" 2 2;
    Mod = "mod" 2 2;
    Neg = "neg" 1 1;
    Strip = "strip" 2 2;
    LStrip = "lstrip" 2 2;
    RStrip = "rstrip" 2 2;
    Split = "split" 3 3;
    RSplit = "rsplit" 3 3;
    SplitLines = "splitlines" 1 1;
    Join = "join" 2 2;
    JoinTexts = "join_texts" 2 2;
    Replace = "replace" 4 4;
    Lower = "lower" 1 1;
    Upper = "upper" 1 1;
    Title = "title" 1 1;
    Capitalize = "capitalize" 1 1;
    SwapCase = "swapcase" 1 1;
    CaseFold = "casefold" 1 1;
    TitleFilter = "title_filter" 1 1;
    StartsWith = "startswith" 2 2;
    EndsWith = "endswith" 2 2;
    Contains = "contains" 2 2;
    Eq = "eq" 2 2;
    Ne = "ne" 2 2;
    Lt = "lt" 2 2;
    Le = "le" 2 2;
    Gt = "gt" 2 2;
    Ge = "ge" 2 2;
    Is = "is" 2 2;
    Not = "not" 1 1;
    Truth = "truth" 1 1;
    Select = "select" 3 3;
    Index = "index" 2 2;
    Find = "find" 2 2;
    RFind = "rfind" 2 2;
    Count = "count" 2 2;
    Int = "int" 1 3;
    Float = "float" 1 2;
    ToInt = "to_int" 1 1;
    Abs = "abs" 1 1;
    Round = "round" 1 2;
    ToJson = "tojson" 1 5;
    JsonString = "json_string" 1 1;
    Kind = "kind" 1 1;
    List = "list" 0 ANY;
    Reverse = "reverse" 1 1;
    Sort = "sort" 1 3;
    Unique = "unique" 1 2;
    Min = "min" 1 2;
    Max = "max" 1 2;
    Sum = "sum" 1 1;
    First = "first" 1 1;
    Last = "last" 1 1;
    Chars = "chars" 1 1;
    Keys = "keys" 1 1;
    Values = "values" 1 1;
    ItemsList = "items_list" 1 1;
}

impl Operation {
    /// Whether it goes by the cases of letters, for which the running interpreter's tables are needed.
    pub fn by_case(self) -> bool {
        use Operation as O;
        matches!(
            self,
            O::Lower
                | O::Upper
                | O::Title
                | O::Capitalize
                | O::SwapCase
                | O::CaseFold
                | O::TitleFilter
                | O::Sort
                | O::Unique
                | O::Min
                | O::Max
        )
    }
}
