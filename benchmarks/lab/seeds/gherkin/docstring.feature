Feature: d
  Scenario:
    Given a post
      """markdown
      Title \"""
        x
      """
    And another
      ```
      y
      ```
    And a table
      | a | b\n |
      | 1 | \\  |
