//! The operations of programs: their names, their operands and what is known of their results.

/// Types of values, by the names that the operation `kind` gives.
type Types = &'static [&'static str];

/// The facts about an operation.
#[derive(Debug)]
pub struct Signature {
    /// The operation's name.
    pub name: &'static str,
    /// The minimum number of operands.
    pub least: usize,
    /// The maximum number of operands; None for any number.
    pub most: Option<usize>,
    /// The type of all results, if it is always the same; `"list of str"` if their items are texts.
    pub result: Option<&'static str>,
    /// The types of operands for which Python never raises, for each operand; the last ones are those of all further
    /// operands too. Empty if it never raises at all; None if no types make it certain.
    pub certain: Option<&'static [Types]>,
}

const ANY: Option<usize> = None;

const UNKNOWN: Option<&str> = None;
const BOOL: Option<&str> = Some("bool");
const INT: Option<&str> = Some("int");
const TEXT: Option<&str> = Some("str");
const LIST: Option<&str> = Some("list");
const TEXTS: Option<&str> = Some("list of str");

const UNCERTAIN: Option<&[Types]> = None;
const CERTAIN: Option<&[Types]> = Some(&[]);
const OF_ATOM: Option<&[Types]> = Some(&[&["none", "bool", "int", "float", "str"]]);
const OF_CLOSED: Option<&[Types]> = Some(&[&["none", "bool", "int", "float", "str", "list", "dict"]]);
const OF_EACH: Option<&[Types]> = Some(&[&["none", "bool", "int", "float", "str", "list", "dict", "other"]]);
const OF_SIZED: Option<&[Types]> = Some(&[&["str", "list", "dict"]]);
const OF_TEXT: Option<&[Types]> = Some(&[&["str"]]);
const OF_TEXT_AND_SET: Option<&[Types]> = Some(&[&["str"], &["str", "none"]]);
const OF_TEXTS_AND_COUNT: Option<&[Types]> = Some(&[&["str"], &["str"], &["str"], &["int"]]);

macro_rules! operations {
    ($enumeration:ident: $($variant:ident = $name:literal $least:literal $most:expr, $result:ident $certain:ident;)+) => {
        /// An operation on values, as in Python. The model in `tests/models/jinja_model.py` defines each of them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "each name is the one of the same operation in Python")]
        pub enum $enumeration {
            $($variant,)+
        }

        impl $enumeration {
            /// The facts about all operations, in their order.
            pub const ALL: &[Signature] = &[
                $(Signature { name: $name, least: $least, most: $most, result: $result, certain: $certain },)+
            ];

            /// Return the operation with a name.
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)+
                    _ => None,
                }
            }

            /// Return the facts about the operation.
            pub fn signature(self) -> &'static Signature {
                &Self::ALL[self as usize]
            }
        }
    };
}

operations! {
    Operation:
    Text = "text" 1 Some(1), TEXT OF_ATOM;
    Repr = "repr" 1 Some(1), TEXT OF_ATOM;
    Concat = "concat" 0 ANY, TEXT OF_TEXT;
    Item = "item" 2 Some(2), UNKNOWN UNCERTAIN;
    Slice = "slice" 4 Some(4), UNKNOWN UNCERTAIN;
    Length = "length" 1 Some(1), INT OF_SIZED;
    Add = "add" 2 Some(2), UNKNOWN OF_TEXT;
    Sub = "sub" 2 Some(2), UNKNOWN UNCERTAIN;
    Mul = "mul" 2 Some(2), UNKNOWN UNCERTAIN;
    FloorDiv = "floordiv" 2 Some(2), UNKNOWN UNCERTAIN;
    TrueDiv = "truediv" 2 Some(2), UNKNOWN UNCERTAIN;
    Mod = "mod" 2 Some(2), UNKNOWN UNCERTAIN;
    Neg = "neg" 1 Some(1), UNKNOWN UNCERTAIN;
    Strip = "strip" 2 Some(2), TEXT OF_TEXT_AND_SET;
    LStrip = "lstrip" 2 Some(2), TEXT OF_TEXT_AND_SET;
    RStrip = "rstrip" 2 Some(2), TEXT OF_TEXT_AND_SET;
    Split = "split" 3 Some(3), TEXTS UNCERTAIN;
    RSplit = "rsplit" 3 Some(3), TEXTS UNCERTAIN;
    SplitLines = "splitlines" 1 Some(1), TEXTS UNCERTAIN;
    Join = "join" 2 Some(2), TEXT UNCERTAIN;
    JoinTexts = "join_texts" 2 Some(2), TEXT UNCERTAIN;
    Shortened = "shortened" 2 Some(2), TEXT UNCERTAIN;
    Replace = "replace" 4 Some(4), TEXT OF_TEXTS_AND_COUNT;
    LowerCase = "lower" 1 Some(1), TEXT OF_TEXT;
    UpperCase = "upper" 1 Some(1), TEXT OF_TEXT;
    TitleCase = "title" 1 Some(1), TEXT OF_TEXT;
    Capitalize = "capitalize" 1 Some(1), TEXT OF_TEXT;
    SwapCase = "swapcase" 1 Some(1), TEXT UNCERTAIN;
    CaseFold = "casefold" 1 Some(1), TEXT UNCERTAIN;
    TitleFilter = "title_filter" 1 Some(1), TEXT UNCERTAIN;
    StartsWith = "startswith" 2 Some(2), BOOL OF_TEXT;
    EndsWith = "endswith" 2 Some(2), BOOL OF_TEXT;
    Contains = "contains" 2 Some(2), BOOL UNCERTAIN;
    Eq = "eq" 2 Some(2), BOOL OF_CLOSED;
    Ne = "ne" 2 Some(2), BOOL OF_CLOSED;
    Lt = "lt" 2 Some(2), BOOL UNCERTAIN;
    Le = "le" 2 Some(2), BOOL UNCERTAIN;
    Gt = "gt" 2 Some(2), BOOL UNCERTAIN;
    Ge = "ge" 2 Some(2), BOOL UNCERTAIN;
    Is = "is" 2 Some(2), BOOL OF_EACH;
    Not = "not" 1 Some(1), BOOL OF_CLOSED;
    Truth = "truth" 1 Some(1), BOOL OF_CLOSED;
    Select = "select" 3 Some(3), UNKNOWN CERTAIN;
    Index = "index" 2 Some(2), INT UNCERTAIN;
    Find = "find" 2 Some(2), INT UNCERTAIN;
    RFind = "rfind" 2 Some(2), INT UNCERTAIN;
    Count = "count" 2 Some(2), INT UNCERTAIN;
    Int = "int" 1 Some(3), UNKNOWN UNCERTAIN;
    Float = "float" 1 Some(2), UNKNOWN UNCERTAIN;
    ToInt = "to_int" 1 Some(1), INT UNCERTAIN;
    FromJson = "from_json" 1 Some(1), UNKNOWN UNCERTAIN;
    Abs = "abs" 1 Some(1), UNKNOWN UNCERTAIN;
    Round = "round" 1 Some(2), UNKNOWN UNCERTAIN;
    ToJson = "tojson" 1 Some(6), TEXT UNCERTAIN;
    EscapeJson = "escape_json" 1 Some(1), TEXT UNCERTAIN;
    Format = "format" 2 Some(3), TEXT UNCERTAIN;
    Justify = "justify" 4 Some(4), TEXT UNCERTAIN;
    Indent = "indent" 3 Some(3), TEXT UNCERTAIN;
    WordWrap = "wordwrap" 5 Some(5), TEXT UNCERTAIN;
    TextOfJson = "text_of_json" 1 Some(1), TEXT UNCERTAIN;
    JsonOfJson = "json_of_json" 5 Some(5), TEXT UNCERTAIN;
    JsonString = "json_string" 1 Some(1), TEXT OF_TEXT;
    Kind = "kind" 1 Some(1), TEXT OF_CLOSED;
    List = "list" 0 ANY, LIST CERTAIN;
    Reverse = "reverse" 1 Some(1), LIST UNCERTAIN;
    Sort = "sort" 1 Some(3), LIST UNCERTAIN;
    Unique = "unique" 1 Some(2), LIST UNCERTAIN;
    Min = "min" 1 Some(2), UNKNOWN UNCERTAIN;
    Max = "max" 1 Some(2), UNKNOWN UNCERTAIN;
    Sum = "sum" 1 Some(1), UNKNOWN UNCERTAIN;
    First = "first" 1 Some(1), UNKNOWN UNCERTAIN;
    Last = "last" 1 Some(1), UNKNOWN UNCERTAIN;
    Chars = "chars" 1 Some(1), TEXTS UNCERTAIN;
    Keys = "keys" 1 Some(1), UNKNOWN UNCERTAIN;
    Values = "values" 1 Some(1), UNKNOWN UNCERTAIN;
    ItemsList = "items_list" 1 Some(1), UNKNOWN UNCERTAIN;
}

impl Operation {
    /// Return true if the operation depends on the cases of letters, and so on the tables of the running interpreter.
    pub fn by_case(self) -> bool {
        use Operation as O;
        matches!(
            self,
            O::LowerCase
                | O::UpperCase
                | O::TitleCase
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
