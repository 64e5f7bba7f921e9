Feature: Highlander
  Rule: There can be only One
    Background:
      Given a sword
    @r
    Example: Only One
      Then one \| left
  Rule: second
    Scenario Template: t
      Given <a>
