"""Commands about servers, profiles and aliases of the user's configuration."""
