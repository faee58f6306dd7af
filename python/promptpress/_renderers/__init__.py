"""The public renderers: Renderer, JinjaTemplate, ChatTemplate, and what builds them from configuration files."""
