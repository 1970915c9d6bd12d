"""One set of S3 settings, from options and environment, for obstore and for Lance."""

from __future__ import annotations

from datetime import timedelta

import pytest

from omnigraph.storage.objects.settings import S3Settings

AMBIENT = {
    "AWS_ACCESS_KEY_ID": "ambient",
    "AWS_SECRET_ACCESS_KEY": "ambient-secret",
    "AWS_SESSION_TOKEN": "ambient-token",
    "AWS_DEFAULT_REGION": "eu-west-1",
    "AWS_ENDPOINT_URL": "https://storage.example",
}


def test_the_usual_environment_variables_are_enough() -> None:
    assert S3Settings.resolve({}, AMBIENT).lance_options() == {
        "aws_access_key_id": "ambient",
        "aws_secret_access_key": "ambient-secret",
        "aws_session_token": "ambient-token",
        "aws_region": "eu-west-1",
        "aws_endpoint": "https://storage.example",
    }


@pytest.mark.parametrize("name", ["region", "REGION", "aws_region", "AWS_REGION", "AWS_DEFAULT_REGION"])
def test_an_option_has_several_spellings_and_wins_over_the_environment(name: str) -> None:
    assert S3Settings.resolve({name: "us-east-2"}, AMBIENT).lance_options()["aws_region"] == "us-east-2"


def test_the_more_specific_variable_wins() -> None:
    ambient = {**AMBIENT, "AWS_REGION": "eu-west-2", "AWS_ENDPOINT_URL_S3": "https://s3.example"}
    options = S3Settings.resolve({}, ambient).lance_options()
    assert (options["aws_region"], options["aws_endpoint"]) == ("eu-west-2", "https://s3.example")


def test_given_credentials_are_not_mixed_with_ambient_ones() -> None:
    given = {"access_key_id": "mine", "secret_access_key": "my-secret"}
    options = S3Settings.resolve(given, AMBIENT).lance_options()
    assert options["aws_access_key_id"] == "mine"
    assert "aws_session_token" not in options


def test_an_empty_variable_counts_as_unset() -> None:
    assert S3Settings.resolve({}, {"AWS_SESSION_TOKEN": ""}).lance_options() == {}


def test_an_http_endpoint_is_allowed_because_it_was_asked_for() -> None:
    assert S3Settings.resolve({"endpoint": "http://minio:9000"}, {}).lance_options()["allow_http"] == "true"
    refused = S3Settings.resolve({"endpoint": "http://minio:9000", "allow_http": "false"}, {})
    assert refused.client_options() == {"allow_http": "false"}


def test_settings_survive_the_way_through_lance_options() -> None:
    given = {"AWS_REGION": "r", "endpoint_url": "http://x", "timeout": "3s", "client_max_retries": "2"}
    once = S3Settings.resolve(given, {}).lance_options()
    assert S3Settings.resolve(once, {}).lance_options() == once


def test_retries_are_bounded_and_can_be_set() -> None:
    assert S3Settings.resolve({}, {}).retry_config() == {
        "max_retries": 5,
        "retry_timeout": timedelta(seconds=30),
    }
    chosen = S3Settings.resolve({"client_max_retries": "0", "client_retry_timeout": "2"}, {})
    assert chosen.retry_config() == {"max_retries": 0, "retry_timeout": timedelta(seconds=2)}


def test_settings_do_not_show_their_secrets() -> None:
    assert "ambient" not in repr(S3Settings.resolve({}, AMBIENT))
