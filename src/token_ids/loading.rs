//! Engines made from files.

use super::engine::Engine;

/// Make the engine of a `tokenizer.json`, given as text, in which truncation, padding and post-processing don't count.
///
/// # Errors
///
/// The reason why there is none: the tokenizer has a part that the engine doesn't know, or this build has no engine.
pub fn load(json: &str) -> Result<Box<dyn Engine>, String> {
    #[cfg(feature = "tokenizers")]
    return super::hub::HubEngine::load(json).map(|engine| Box::new(engine) as _);
    #[cfg(not(feature = "tokenizers"))]
    {
        let _ = json;
        Err("this build has no engine for tokenizers".into())
    }
}
