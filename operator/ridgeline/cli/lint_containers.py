"""A container of a manifest as the engine's checks take it, with what surrounds its command line.

Its environment is that of `env` and of the ConfigMaps that were given beside it; its words are also
those of the file that `--config` names, where a given ConfigMap holds that file.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any, Final

from ridgeline.cli.lint_files import LintInputError, plain_yaml
from ridgeline.cli.lint_manifests import Manifests, PodOf, mapping, mappings, text
from ridgeline.cli.lint_shapes import refused_value
from ridgeline.engine.args_expand import expanded
from ridgeline.engine.args_mentions import mentions, script_of
from ridgeline.engine.args_reading import ArgsError
from ridgeline.engine.config_file import CONFIG_FILE_FLAG, with_config_file
from ridgeline.engine.container import Container, EnvItem, known_environment
from ridgeline.engine.findings import Finding, Severity
from ridgeline.engine.spelling_quotes import on_one_line
from ridgeline.terms.names import PROFILE_ENV


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A container that may run vLLM.

    Attributes:
        pod: The Pod that it belongs to.
        body: The container as written.
        written: Its own command line and `env`, as the operator sees them.
        container: The same with the variables of given ConfigMaps and the words of its `--config`
            file.
        defaults_known: Whether everything that `envFrom` names was given.
        findings: What is wrong with how it is written.
    """

    pod: PodOf
    body: Mapping[str, Any]
    written: Container
    container: Container
    defaults_known: bool
    findings: tuple[Finding, ...]

    @property
    def default(self) -> str | None:
        """What `envFrom` gives the profile's variable; `None` when that is not known."""
        own = {each.name for each in self.written.env}
        given = {each.name: each.value for each in self.container.env if each.name not in own}
        return given.get(PROFILE_ENV)

    @property
    def is_vllm(self) -> bool:
        """Whether it shows that it runs vLLM."""
        words = self.container.words
        script = script_of(words)
        return (
            any("vllm" in word for word in (self.written.image.casefold(), *words))
            or bool(mentions(words, {}))
            or bool(script is not None and script.mentions)
            or any(PROFILE_ENV in word for word in words)
        )


def servers_of(manifests: Manifests) -> tuple[Server, ...]:
    """Return every container of what was given."""
    return tuple(_server(pod, body, manifests) for pod in manifests.pods for body in pod.containers)


def _server(pod: PodOf, body: Mapping[str, Any], manifests: Manifests) -> Server:
    findings: list[Finding] = []
    written = Container(
        name=on_one_line(text(body.get("name"))),
        command=tuple(_words(body, "command", findings)),
        args=tuple(_words(body, "args", findings)),
        env=tuple(_items(body, findings)),
        has_env_from=any(mappings(body.get("envFrom"))),
        image=on_one_line(text(body.get("image")), limit=400),
    )
    namespace = pod.owner.namespace
    given = (*_given(body, manifests, namespace), *_looked_up(body, written, manifests, namespace))
    container = replace(written, env=given)
    container = _with_file(container, pod, body, manifests, findings)
    return Server(
        pod=pod,
        body=body,
        written=written,
        container=container,
        defaults_known=_all_given(body, manifests, namespace),
        findings=tuple(findings),
    )


def _words(body: Mapping[str, Any], field: str, findings: list[Finding]) -> Iterator[str]:
    """Yield a list of words; what is none is told, and taken for what was meant."""
    value = body.get(field)
    if value is None:
        return
    if not isinstance(value, list):
        findings.append(
            refused_value(field, value, "it is no list", f"write {field}: with one word a line")
        )
        return
    for index, word in enumerate(value):
        if isinstance(word, str):
            yield word
        else:
            way_out = "put it in quotes, so that it is one text"
            findings.append(refused_value(f"{field}[{index}]", word, "it is no text", way_out))
            yield json.dumps(word, ensure_ascii=False)


def _items(body: Mapping[str, Any], findings: list[Finding]) -> Iterator[EnvItem]:
    listed = body.get("env")
    for index, item in enumerate(listed if isinstance(listed, list) else ()):
        if not isinstance(item, dict):
            way_out = "write name: and value: there, or remove it"
            findings.append(refused_value(f"env[{index}]", item, "it is no object", way_out))
            continue
        value = item.get("value")
        name = text(item.get("name"))
        if value is not None and not isinstance(value, str):
            way_out = "put it in quotes, so that it is a text"
            field = f"env {on_one_line(name)}"
            findings.append(refused_value(field, value, "it is no text", way_out))
            value = json.dumps(value, ensure_ascii=False)
        yield EnvItem(name=name, value=value, from_elsewhere=bool(item.get("valueFrom")))


def _given(body: Mapping[str, Any], manifests: Manifests, namespace: str) -> Iterator[EnvItem]:
    """Yield what `envFrom` takes from ConfigMaps that were given."""
    for source in mappings(body.get("envFrom")):
        reference = mapping(source.get("configMapRef"))
        data = manifests.config_map(text(reference.get("name")), namespace)
        prefix = text(source.get("prefix"))
        for key, value in (data or {}).items():
            yield EnvItem(name=prefix + key, value=value.replace("$", "$$"))


def _all_given(body: Mapping[str, Any], manifests: Manifests, namespace: str) -> bool:
    names = (
        text(mapping(each.get("configMapRef")).get("name"))
        for each in mappings(body.get("envFrom"))
    )
    return all(manifests.config_map(name, namespace) is not None for name in names)


def _looked_up(
    body: Mapping[str, Any], written: Container, manifests: Manifests, namespace: str
) -> Iterator[EnvItem]:
    """Yield the items of `env`, those of given ConfigMaps with their values."""
    for item, source in zip(written.env, mappings(body.get("env")), strict=True):
        reference = mapping(mapping(source.get("valueFrom")).get("configMapKeyRef"))
        data = manifests.config_map(text(reference.get("name")), namespace) or {}
        value = data.get(text(reference.get("key")))
        if item.from_elsewhere and value is not None:
            yield EnvItem(name=item.name, value=value.replace("$", "$$"))
        else:
            yield item


_FILE_NOT_SEEN: Final = Severity.INFO


def _with_file(
    container: Container,
    pod: PodOf,
    body: Mapping[str, Any],
    manifests: Manifests,
    findings: list[Finding],
) -> Container:
    """Return a container with the words of its `--config` file."""
    path = _config_file(container)
    if path is None:
        return container
    held = _file(path, pod, body, manifests)
    if held is None:
        consequence = "no ConfigMap that was given holds the file: what it says is not judged"
        fix = "give the ConfigMap that is mounted there as well"
        findings.append(_of_file("ConfigFileNotSeen", path, consequence, fix, _FILE_NOT_SEEN))
        return container
    try:
        document = plain_yaml(held, "the file")
        command, args = _inserted(container, document)
    except (ArgsError, LintInputError) as error:
        fix = "correct the file"
        findings.append(_of_file("ConfigFile", path, str(error), fix, Severity.ERROR))
        return container
    return replace(container, command=command, args=args)


def _of_file(check: str, path: str, consequence: str, fix: str, severity: Severity) -> Finding:
    return Finding(
        check=check,
        flag=CONFIG_FILE_FLAG,
        value=on_one_line(path),
        consequence=consequence,
        fix=fix,
        severity=severity,
    )


def _inserted(container: Container, document: object) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return command and arguments with the file's words; where they are cut tells nothing."""
    whole = with_config_file(container.words, document)
    at = len(container.command)
    return whole[:at], whole[at:]


def _config_file(container: Container) -> str | None:
    """Return the file that `--config` names; `None` without one."""
    environment = known_environment(container)
    words = [expanded(word, environment) for word in container.words]
    for index, word in enumerate(words):
        name, equals, inline = word.partition("=")
        if name == CONFIG_FILE_FLAG:
            return inline if equals else next(iter(words[index + 1 : index + 2]), "")
    return None


def _file(path: str, pod: PodOf, body: Mapping[str, Any], manifests: Manifests) -> str | None:
    """Return the text of a file of a container; `None` where no given ConfigMap has it."""
    volumes = {text(each.get("name")): each for each in mappings(pod.spec.get("volumes"))}
    for mount in mappings(body.get("volumeMounts")):
        below = _below(path, text(mount.get("mountPath")), text(mount.get("subPath")))
        volume = volumes.get(text(mount.get("name")))
        if below is None or volume is None:
            continue
        for source in _config_map_sources(volume):
            name = text(source.get("name"))
            data = manifests.config_map(name, pod.owner.namespace)
            key = _key_of(source, below)
            if data is not None and key in data:
                return data[key]
    return None


def _below(path: str, mounted: str, sub_path: str) -> str | None:
    """Return the file's path inside the volume; `None` when it does not lie there."""
    if not mounted:
        return None
    if sub_path:
        return sub_path if PurePosixPath(path) == PurePosixPath(mounted) else None
    try:
        return str(PurePosixPath(path).relative_to(mounted))
    except ValueError:
        return None


def _config_map_sources(volume: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    projected = mapping(volume.get("projected")).get("sources")
    own = mapping(volume.get("configMap"))
    sources = [mapping(each.get("configMap")) for each in mappings(projected)]
    return [each for each in (own, *sources) if each]


def _key_of(source: Mapping[str, Any], path: str) -> str:
    """Return the key of a ConfigMap that is mounted under a path."""
    for item in mappings(source.get("items")):
        if text(item.get("path")) == path:
            return text(item.get("key"))
    return path
