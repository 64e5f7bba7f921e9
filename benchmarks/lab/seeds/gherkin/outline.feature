Feature: Eating
  Scenario Outline: eating <n>
    Given there are <start> cucumbers
    * I eat <eat> cucumbers

    @one
    Examples: few
      | start | eat |
      | 12    | 5   |
    Examples:
      | start | eat |
