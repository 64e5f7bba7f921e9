@smoke @slow
Feature: Guess the word
  As a player I want hints

  Background:
    Given a game

  # a comment
  Scenario: Maker starts
    When the Maker starts a game
    Then the Maker waits
    And nothing happens
    But time
