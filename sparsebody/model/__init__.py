"""What the user builds, and the flat arrays it is compiled to."""
