"""The description of the routes: what they take, what they answer, which errors there are."""
