package org.testcontainers.containers.wait.strategy;

/** A stub; see GenericContainer. */
public interface WaitStrategy {
    String regEx();
}
