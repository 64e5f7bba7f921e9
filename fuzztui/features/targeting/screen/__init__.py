"""The Types screen: types, goals, and commands about both."""
