"""One thing under two ids: who they are, what one of them becomes, and where its edges go."""
