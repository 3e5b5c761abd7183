"""What Spark's errors say."""

from __future__ import annotations


def told(error: Exception) -> str:
    """What went wrong in a task, without the stack of the JVM."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if "Error" in line or "Exception" in line]
    return (telling[-1] if telling else lines[0] if lines else type(error).__name__)[:500]
