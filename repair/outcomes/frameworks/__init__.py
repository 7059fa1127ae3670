"""What is known of each test runner, and how a task's test command is planned and recognised."""
