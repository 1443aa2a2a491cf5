"""Trains the shape classifier on one GPU with mixed precision."""

import argparse
import logging
import os

import torch
import torch.backends.cudnn as cudnn
import torch.nn as nn
from torch.cuda.amp import GradScaler, autocast

from data import build_loaders
from model import build_model
from utils import (
    AverageMeter,
    StepTimer,
    append_json,
    describe_device,
    load_checkpoint,
    memory_report,
    save_checkpoint,
    seed_everything,
)

log = logging.getLogger("train")


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--steps-per-epoch", type=int, default=0, help="0 means the whole data set")
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--image-size", type=int, default=32)
    parser.add_argument("--train-size", type=int, default=4096)
    parser.add_argument("--val-size", type=int, default=512)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", default="runs/cuda_baseline", help="folder of checkpoints and metrics")
    parser.add_argument("--resume", default="", help="checkpoint to go on from")
    parser.add_argument("--no-amp", action="store_true", help="full precision even on CUDA devices")
    return parser.parse_args()


def train_one_epoch(model, loader, criterion, optimizer, scaler, device, args, epoch):
    model.train()
    losses = AverageMeter("loss")
    step_ms = AverageMeter("step")
    timer = StepTimer()
    use_amp = scaler.is_enabled()
    for step, (images, labels) in enumerate(loader):
        if args.steps_per_epoch and step >= args.steps_per_epoch:
            break
        timer.start()
        if torch.cuda.is_available():
            images = images.cuda(non_blocking=True)
            labels = labels.cuda(non_blocking=True)
        optimizer.zero_grad(set_to_none=True)
        with autocast(enabled=use_amp):
            output = model(images)
            loss = criterion(output, labels)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        step_ms.update(timer.stop())
        losses.update(loss.item(), images.size(0))
        if step % 10 == 0:
            log.info("epoch %d step %d loss %.4f %.1f ms", epoch, step, losses.average, step_ms.average)
    return losses.average, step_ms.average


@torch.no_grad()
def validate(model, loader, device):
    model.eval()
    correct = torch.zeros((), device=device)
    seen = 0
    for images, labels in loader:
        images, labels = images.to(device, non_blocking=True), labels.to(device, non_blocking=True)
        with torch.cuda.amp.autocast(enabled=device.type == "cuda"):
            predicted = model(images).argmax(dim=1)
        correct += (predicted == labels).sum()
        seen += labels.numel()
    return (correct / seen).item()


def main():
    args = parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    seed_everything(args.seed)

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if device.type == "cuda":
        torch.cuda.set_device(0)
        cudnn.benchmark = True
        torch.backends.cudnn.deterministic = False
        torch.cuda.reset_peak_memory_stats()
    else:
        log.warning("CUDA is not available: training on the CPU will be slow")
    log.info("device: %s", describe_device(device))

    train_loader, val_loader = build_loaders(args)
    model = build_model(args.width).to(device)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4)
    scaler = GradScaler(enabled=device.type == "cuda" and not args.no_amp)

    start, best = 0, 0.0
    if args.resume:
        start, best = load_checkpoint(args.resume, model, optimizer, scaler, device)
        log.info("resumed %s at epoch %d", args.resume, start)

    os.makedirs(args.output, exist_ok=True)
    for epoch in range(start, args.epochs):
        loss, ms = train_one_epoch(model, train_loader, criterion, optimizer, scaler, device, args, epoch)
        accuracy = validate(model, val_loader, device)
        record = {"epoch": epoch, "loss": loss, "accuracy": accuracy, "step_ms": ms, **memory_report()}
        append_json(os.path.join(args.output, "metrics.jsonl"), record)
        log.info("epoch %d: loss %.4f, accuracy %.3f, peak %.0f MiB", epoch, loss, accuracy, record["cuda_peak_mb"])
        if accuracy >= best:
            best = accuracy
            save_checkpoint(os.path.join(args.output, "best.pt"), model, optimizer, scaler, epoch, best)
        torch.cuda.empty_cache()
    print(f"best accuracy {best:.3f}")


if __name__ == "__main__":
    main()
