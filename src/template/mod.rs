//! The dataset's templates, read from configuration values.
//!
//! A template is read once and isn't used as a dict afterwards. Some faults stop a harness only when it uses the part
//! (an item that isn't a string, a label without `round`). Such an error is kept in the part and raised when the part
//! is used, so that a label that isn't rendered can't fail. A configuration value passes the files in this order:
//!
//! | file | content |
//! |---|---|
//! | `template` | the family of a template |
//! | `template_keys` | the keys of its dict |
//! | `prompt`, `raw` | the families that are read from a value: a dialogue or a label map, and messages |
//! | `column_tokens` | tokens that replace `{name}` as placeholders of columns |
//! | `turns`, `media_template`, `chat` | the families that are built on a prompt template |
//! | `keys` | the keys of turns and messages |
//! | `turn` | turns and the other items of a dialogue |
//! | `media`, `modality` | texts, images, videos and sounds of a turn |
//! | `text` | texts that fields are filled into, with their origins |

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
