//! What was asked: the dataset's templates, read from configuration values.
//!
//! A template is read once and never looked at as a dict again. What the harness would trip over only when it uses a
//! part (an item that is no string, a label without `round`) is kept as that part's error and raised where it is used,
//! so that a label nobody renders can't fail. A configuration value passes the files in this order:
//!
//! | file | what it knows |
//! |---|---|
//! | `template` | which family a template is of |
//! | `template_keys` | the keys of its dict |
//! | `prompt`, `raw` | the families that are read from a value: a dialogue or a label map, and messages |
//! | `column_tokens` | what stands for a column, where that isn't `{name}` |
//! | `turns`, `media_template`, `chat` | the families that are made of a prompt template |
//! | `keys` | the keys of turns and messages |
//! | `turn` | turns and the other items of a dialogue |
//! | `media`, `modality` | what a turn says in texts, images, videos and sounds |
//! | `text` | texts that fields are filled into, and where each came from |

mod chat;
mod column_tokens;
pub mod keys;
mod media;
mod media_template;
mod modality;
mod prompt;
mod raw;
#[allow(clippy::module_inception, reason = "the type of that name stands in it")]
mod template;
mod template_keys;
mod text;
mod turn;
mod turns;

pub use chat::{Chat, DIALOGUE, Line};
pub use column_tokens::ColumnTokens;
pub use media::{Form, MEDIA_KEY, Media, Part, PartKey};
pub use media_template::MediaTemplate;
pub use modality::{END_TAG, Modality, has_scheme};
pub use prompt::{Body, Dialogue, PromptTemplate, SECTIONS, Shape, key_path};
pub use raw::{RawItem, RawTemplate};
pub use template::Template;
pub use template_keys::{PROMPT_KEYS, RAW_KEYS, family_name};
pub use text::{Atom, Cuts, FragmentRef, FragmentSet, Origin, SOURCES, Source, Text};
pub use turn::{Entry, Item, TURN_KEYS, Turn};
pub use turns::Turns;
