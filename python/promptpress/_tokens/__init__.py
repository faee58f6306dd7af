"""Token ids of rendered prompts: tokenizers, settings, and the engine that encodes what another one renders."""
