from collections import abc as container_abcs
string_classes = (str, bytes)


def collate(batch):
    if isinstance(batch, container_abcs.Mapping) or isinstance(batch, string_classes):
        return batch
    return [collate(one) for one in batch if isinstance(one, container_abcs.Sequence)]
