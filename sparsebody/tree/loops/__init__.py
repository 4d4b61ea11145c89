"""Loop constraints K qdd = k, and the methods that form them. Featherstone (2008), ch. 8."""
